import type { Noun } from './nouns/noun.ts'

/** A noun as the help shows it. Its commands are loaded only when it is used, so that the start is fast. */
interface NounEntry {
  readonly name: string
  readonly about: string
  readonly load: () => Promise<{ readonly noun: Noun }>
}

/** Every noun of the command line. Help, completion and the reference page are made from this table. */
export const NOUNS: readonly NounEntry[] = [
  {
    name: 'merchants',
    about: 'the customers of this installation',
    load: () => import('./nouns/merchants.ts'),
  },
  {
    name: 'credentials',
    about: 'applications of merchants: id, secret, scopes, limits',
    load: () => import('./nouns/credentials.ts'),
  },
  {
    name: 'routes',
    about: 'ways of a payment: method, currency, provider accounts',
    load: () => import('./nouns/routes.ts'),
  },
  {
    name: 'endpoints',
    about: 'addresses that merchants get callbacks at',
    load: () => import('./nouns/endpoints.ts'),
  },
  { name: 'accounts', about: 'accounts at providers', load: () => import('./nouns/accounts.ts') },
  { name: 'payments', about: 'deposits and payouts', load: () => import('./nouns/payments.ts') },
  {
    name: 'balances',
    about: "merchants' money, and the entries behind it",
    load: () => import('./nouns/balances.ts'),
  },
  { name: 'refunds', about: 'requests to give a deposit back', load: () => import('./nouns/refunds.ts') },
  {
    name: 'chargebacks',
    about: 'deposits that a bank takes back',
    load: () => import('./nouns/chargebacks.ts'),
  },
  { name: 'tickets', about: "merchants' questions", load: () => import('./nouns/tickets.ts') },
  {
    name: 'anomalies',
    about: 'reports of providers that a person must decide on',
    load: () => import('./nouns/anomalies.ts'),
  },
  { name: 'stuck', about: 'work that failed too often', load: () => import('./nouns/stuck.ts') },
  { name: 'deliveries', about: 'callbacks and their tries', load: () => import('./nouns/deliveries.ts') },
  {
    name: 'destinations',
    about: 'receivers of callbacks, with their breakers',
    load: () => import('./nouns/destinations.ts'),
  },
  {
    name: 'exchanges',
    about: 'requests of merchants as the gateway answered them',
    load: () => import('./nouns/exchanges.ts'),
  },
  {
    name: 'approvals',
    about: 'calls that wait for a second person, and the limits',
    load: () => import('./nouns/approvals.ts'),
  },
  { name: 'audit', about: 'who did what, and why', load: () => import('./nouns/audit.ts') },
  {
    name: 'operations',
    about: 'runs of backup, restore, verify, reseal and migrate',
    load: () => import('./nouns/operations.ts'),
  },
  {
    name: 'principals',
    about: 'people and programs with their rights',
    load: () => import('./nouns/principals.ts'),
  },
]
