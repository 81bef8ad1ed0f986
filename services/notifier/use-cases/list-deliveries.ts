import type { Environment } from '#lib/contract/environment.ts'
import { readPage } from '#lib/patterns/paging/read-page.ts'
import type { Delivery, DeliveryStatus } from '../domain/delivery.ts'
import type { Deliveries } from '../store/deliveries.ts'

/** Selects deliveries of one merchant. An absent field does not restrict the list. */
export interface DeliveryFilter {
  readonly merchant_id: string
  readonly environment?: Environment
  readonly event?: string
  readonly status?: DeliveryStatus
  readonly resource_id?: string
  readonly endpoint_id?: string
  /** The first instant of creation, and the first one after the last. */
  readonly created_from?: Date
  readonly created_to?: Date
}

/** A page of deliveries, newest first. */
export interface DeliveryPage {
  readonly deliveries: readonly Delivery[]
  readonly next_page_token: string
}

/** The indexes of single filters, the one that selects the fewest deliveries first. */
const INDEXES = [
  ['resource_id', 'by_resource'],
  ['endpoint_id', 'by_endpoint'],
  ['status', 'by_status'],
  ['event', 'by_event'],
  ['environment', 'by_environment'],
] as const

const POSITION = { created_at: 'instant', delivery_id: 'text' } as const

/**
 * Lists deliveries. One filter is read from its index; with several, a page before the last can be short, even empty:
 * only an empty token ends the list.
 */
export async function listDeliveries(
  deliveries: Pick<Deliveries, 'find'>,
  filter: DeliveryFilter,
  page_size: number,
  page_token: string,
): Promise<DeliveryPage> {
  const { index, equals, rest } = indexFor(filter)
  const { created_from: from, created_to: to } = filter
  const { items, next_page_token } = await readPage<Delivery>(
    {
      collection: deliveries,
      index,
      range: { equals: Object.values(equals), ...(from ? { from } : {}), ...(to ? { to } : {}) },
      reverse: true,
      token_scope: equals,
      position: POSITION,
      ...(rest.length > 0
        ? { matches: (delivery: Delivery) => rest.every((field) => delivery[field] === filter[field]) }
        : {}),
    },
    { page_size, page_token },
  )
  return { deliveries: items, next_page_token }
}

/** The index to read, the values that it fixes, and the filters that are left to compare. */
function indexFor(filter: DeliveryFilter) {
  const { merchant_id } = filter
  const given = INDEXES.filter(([field]) => filter[field] !== undefined)
  const [best, ...others] = given
  if (best === undefined) return { index: 'by_created', equals: { merchant_id }, rest: [] }
  const [field, index] = best
  const equals: Readonly<Record<string, string>> = { merchant_id, [field]: filter[field] ?? '' }
  return { index, equals, rest: others.map(([other]) => other) }
}
