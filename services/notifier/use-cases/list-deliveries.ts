import type { Environment } from '#lib/contract/environment.ts'
import { readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import type { Delivery, DeliveryStatus } from '../domain/delivery.ts'

/** Selects deliveries of one merchant. An absent field does not restrict the list. */
export interface DeliveryFilter {
  readonly merchant_id: string
  readonly environment?: Environment
  readonly event?: string
  readonly status?: DeliveryStatus
  readonly resource_id?: string
  readonly endpoint_id?: string
}

/** A page of deliveries, newest first. */
export interface DeliveryPage {
  readonly deliveries: readonly Delivery[]
  readonly next_page_token: string
}

const POSITION = { created_at: 'instant', delivery_id: 'text' } as const

/** Lists deliveries. A page before the last can be short, even empty: only an empty token ends the list. */
export async function listDeliveries(
  deliveries: Collection<Delivery>,
  filter: DeliveryFilter,
  page_size: number,
  page_token: string,
): Promise<DeliveryPage> {
  const { merchant_id, resource_id } = filter
  const [index, token_scope] =
    resource_id === undefined
      ? (['by_created', { merchant_id }] as const)
      : (['by_resource', { merchant_id, resource_id }] as const)
  const { items, next_page_token } = await readPage<Delivery>(
    {
      collection: deliveries,
      index,
      range: { equals: Object.values(token_scope) },
      reverse: true,
      token_scope,
      position: POSITION,
      matches: (delivery) => matches(delivery, filter),
    },
    { page_size, page_token },
  )
  return { deliveries: items, next_page_token }
}

function matches(delivery: Delivery, { environment, event, status, endpoint_id }: DeliveryFilter): boolean {
  return (
    (environment === undefined || delivery.environment === environment) &&
    (event === undefined || delivery.event === event) &&
    (status === undefined || delivery.status === status) &&
    (endpoint_id === undefined || delivery.endpoint_id === endpoint_id)
  )
}
