import type { Environment } from '#lib/contract/environment.ts'
import { pageSize, pageToken, positionOf } from '#lib/patterns/paging/page-token.ts'
import type { Collection } from '#lib/platform/store/port.ts'
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

/** How many documents one call reads when its filter matches few of them; the token continues after the last one. */
const READ_MAX = 2_000
const READ_SIZE = 200
const POSITION = { created_at: 'instant', delivery_id: 'text' } as const

/** Lists deliveries. A page before the last can be short, even empty: only an empty token ends the list. */
export async function listDeliveries(
  deliveries: Collection<Delivery>,
  filter: DeliveryFilter,
  requested_size: number,
  token: string,
): Promise<DeliveryPage> {
  const size = pageSize(requested_size)
  const { merchant_id, resource_id } = filter
  const [index, fixed] =
    resource_id === undefined
      ? (['by_created', { merchant_id }] as const)
      : (['by_resource', { merchant_id, resource_id }] as const)
  const range = { equals: Object.values(fixed) }
  const matching: Delivery[] = []
  let after = positionOf(token, fixed, POSITION)
  for (let read = 0; read < READ_MAX; read += READ_SIZE) {
    const options = { limit: READ_SIZE, reverse: true, ...(after ? { after } : {}) }
    const page = await deliveries.find(index, range, options)
    for (const delivery of page) {
      const { created_at, delivery_id } = delivery
      after = { ...fixed, created_at, delivery_id }
      if (matches(delivery, filter)) matching.push(delivery)
      if (matching.length === size) return { deliveries: matching, next_page_token: pageToken(after) }
    }
    if (page.length < READ_SIZE) return { deliveries: matching, next_page_token: '' }
  }
  return { deliveries: matching, next_page_token: after ? pageToken(after) : '' }
}

function matches(delivery: Delivery, { environment, event, status, endpoint_id }: DeliveryFilter): boolean {
  return (
    (environment === undefined || delivery.environment === environment) &&
    (event === undefined || delivery.event === event) &&
    (status === undefined || delivery.status === status) &&
    (endpoint_id === undefined || delivery.endpoint_id === endpoint_id)
  )
}
