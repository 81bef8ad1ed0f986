import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { loadOrReload } from './call/reload.ts'
import { Frame } from './frame/frame.tsx'
import type { NavigationItem } from './frame/navigation.ts'
import { ProblemNote } from './parts/problem-note.tsx'

/** A page with its place in the navigation, and how its code is loaded. */
interface Page extends NavigationItem {
  readonly load: () => Promise<() => ReactNode>
}

const read = { right: 'read', for_merchants: true } as const
const operator = { right: 'read', for_merchants: false } as const

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
]

/** The pages that are reached by links and by the field for searches. */
const OTHERS: readonly Pick<Page, 'path' | 'load'>[] = [
  { path: '/search', load: async () => (await import('./pages/search.tsx')).SearchPage },
  { path: '/payments/$payment_id', load: async () => (await import('./pages/payment.tsx')).PaymentPage },
]

const root = createRootRoute({
  component: () => <Frame pages={PAGES} />,
  notFoundComponent: () => <h1>There is no page at this address</h1>,
  errorComponent: ({ error }) => <ProblemNote error={error} />,
})

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/overview' })
  },
})

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
  defaultPreload: 'intent',
  scrollRestoration: true,
})
