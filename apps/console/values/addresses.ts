/** Where a resource is shown. */
export interface Address {
  readonly path: string
  readonly search?: Readonly<Record<string, string>>
}

const inPath = (folder: string) => (id: string) => ({ path: `/${folder}/${encodeURIComponent(id)}` })

const inList = (page: string) => (id: string) => ({ path: `/${page}`, search: { open: id } })

/** The addresses of the kinds of resources that have a page. */
const PAGES: Readonly<Record<string, (id: string) => Address>> = {
  payment: inPath('payments'),
  merchant: inPath('merchants'),
  ticket: inPath('tickets'),
  refund: inList('refunds'),
  chargeback: inList('chargebacks'),
  approval: inList('approvals'),
  delivery: inList('deliveries'),
  anomaly: inList('anomalies'),
  exchange: inList('requests'),
  principal: inList('people'),
  provider_account: inList('providers'),
}

/** The pages that are lists. */
const LISTS: ReadonlySet<string> = new Set([
  'payments',
  'refunds',
  'chargebacks',
  'approvals',
  'deliveries',
  'providers',
  'destinations',
  'tickets',
  'anomalies',
  'stuck',
])

/** The address of a resource; `undefined` for a kind without a page. */
export function addressOf(kind: string, id: string): Address | undefined {
  return id === '' ? undefined : PAGES[kind]?.(id)
}

/** The address of a list with these filters; `undefined` where there is no such page. */
export function listAddress(page: string, filters?: string): Address | undefined {
  if (!LISTS.has(page)) return undefined
  return { path: `/${page}`, ...(filters !== undefined && { search: { q: filters } }) }
}

/** The kinds that the ids in fields of messages name. */
const KINDS: Readonly<Record<string, string>> = {
  account_id: 'provider_account',
  proposer_id: 'principal',
  decider_id: 'principal',
  state_principal_id: 'principal',
}

/** The kind of resource that a field of a message names, such as `payment` of `payment_id`; `undefined` for other fields. */
export function kindOfField(name: string): string | undefined {
  return KINDS[name] ?? /^(\w+)_id$/.exec(name)?.[1]
}

/** An id as it fits in a row: its ends, with a mark in the middle. */
export function shortId(id: string): string {
  return id.length <= 20 ? id : `${id.slice(0, 8)}…${id.slice(-6)}`
}
