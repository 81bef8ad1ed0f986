import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
} from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { loadOrReload } from './call/reload.ts'
import { Frame } from './frame/frame.tsx'
import type { NavigationItem } from './frame/navigation.ts'
import { useRights } from './parts/principal.tsx'
import { ProblemNote } from './parts/problem-note.tsx'

/** A page with its place in the navigation, and how its code is loaded. */
interface Page extends NavigationItem {
  readonly load: () => Promise<() => ReactNode>
}

const read = { right: 'read', for_merchants: true } as const
const operator = { right: 'read', for_merchants: false } as const
const admin = { right: 'admin', for_merchants: false } as const

/** The pages in the order of the navigation. A page that does not exist yet is not here. */
const PAGES: readonly Page[] = [
  {
    path: '/overview',
    label: 'Overview',
    key: 'o',
    ...operator,
    load: async () => (await import('./pages/overview.tsx')).OverviewPage,
  },
  {
    path: '/payments',
    label: 'Payments',
    key: 'p',
    ...read,
    load: async () => (await import('./pages/payments.tsx')).PaymentsPage,
  },
  {
    path: '/refunds',
    label: 'Refunds',
    key: 'r',
    ...read,
    load: async () => (await import('./pages/refunds.tsx')).RefundsPage,
  },
  {
    path: '/chargebacks',
    label: 'Chargebacks',
    key: 'c',
    ...read,
    load: async () => (await import('./pages/chargebacks.tsx')).ChargebacksPage,
  },
  {
    path: '/tickets',
    label: 'Tickets',
    key: 't',
    ...read,
    load: async () => (await import('./pages/tickets.tsx')).TicketsPage,
  },
  {
    path: '/approvals',
    label: 'Approvals',
    key: 'a',
    ...operator,
    load: async () => (await import('./pages/approvals.tsx')).ApprovalsPage,
  },
  {
    path: '/anomalies',
    label: 'Anomalies',
    key: 'n',
    ...operator,
    load: async () => (await import('./pages/anomalies.tsx')).AnomaliesPage,
  },
  {
    path: '/stuck',
    label: 'Stuck effects',
    key: 's',
    ...operator,
    load: async () => (await import('./pages/stuck.tsx')).StuckPage,
  },
  {
    path: '/deliveries',
    label: 'Deliveries',
    key: 'd',
    ...read,
    load: async () => (await import('./pages/deliveries.tsx')).DeliveriesPage,
  },
  {
    path: '/destinations',
    label: 'Destinations',
    key: 'e',
    ...operator,
    load: async () => (await import('./pages/deliveries.tsx')).DestinationsPage,
  },
  {
    path: '/requests',
    label: 'Requests',
    key: 'q',
    ...read,
    load: async () => (await import('./pages/requests.tsx')).RequestsPage,
  },
  {
    path: '/balances',
    label: 'Balances',
    key: 'b',
    ...read,
    load: async () => (await import('./pages/ledger.tsx')).BalancesPage,
  },
  {
    path: '/secrets',
    label: 'Secrets',
    key: 'x',
    ...read,
    load: async () => (await import('./pages/secrets.tsx')).SecretsPage,
  },
  {
    path: '/merchants',
    label: 'Merchants',
    key: 'm',
    ...operator,
    load: async () => (await import('./pages/merchants.tsx')).MerchantsPage,
  },
  {
    path: '/providers',
    label: 'Providers',
    key: 'v',
    ...operator,
    load: async () => (await import('./pages/providers.tsx')).ProvidersPage,
  },
  {
    path: '/verification',
    label: 'Verification',
    key: 'y',
    ...operator,
    load: async () => (await import('./pages/verification.tsx')).VerificationPage,
  },
  {
    path: '/people',
    label: 'People',
    key: 'l',
    ...admin,
    load: async () => (await import('./pages/administration.tsx')).PeoplePage,
  },
  {
    path: '/audit',
    label: 'Audit',
    key: 'u',
    ...admin,
    load: async () => (await import('./pages/administration.tsx')).AuditPage,
  },
]

/** The pages that are reached by links and by the field for searches. */
const OTHERS: readonly Pick<Page, 'path' | 'load'>[] = [
  { path: '/search', load: async () => (await import('./pages/search.tsx')).SearchPage },
  { path: '/payments/$payment_id', load: async () => (await import('./pages/payment.tsx')).PaymentPage },
  { path: '/tickets/$ticket_id', load: async () => (await import('./pages/ticket.tsx')).TicketPage },
  { path: '/merchants/$merchant_id', load: async () => (await import('./pages/merchant.tsx')).MerchantPage },
]

const root = createRootRoute({
  component: () => <Frame pages={PAGES} />,
  notFoundComponent: () => <h1>There is no page at this address</h1>,
  errorComponent: ({ error }) => <ProblemNote error={error} />,
})

const home = createRoute({ getParentRoute: () => root, path: '/', component: Home })

/** Principals of a merchant have no overview of all merchants. */
function Home(): ReactNode {
  const { is_merchant } = useRights()
  return <Navigate to={is_merchant ? '/payments' : '/overview'} replace />
}

const routes = [...PAGES, ...OTHERS].map(({ path, load }) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(() => loadOrReload(path, async () => ({ Page: await load() })), 'Page'),
  }),
)

/** The router. The query of an address is plain text: numbers in it stay the texts that they are. */
export const router = createRouter({
  routeTree: root.addChildren([home, ...routes]),
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(
      Object.entries(search).map(([name, value]) => [name, String(value)]),
    ).toString()
    return text === '' ? '' : `?${text}`
  },
  // A missing file loads the page again, which must follow a click, not a pointer that passes by.
  defaultPreload: false,
  scrollRestoration: true,
})
