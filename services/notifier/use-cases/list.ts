import type { Environment } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { pageSize, pageToken, positionOf } from '#lib/patterns/paging/page-token.ts'
import type { Delivery, DeliveryState } from '../domain/delivery.ts'
import type { NotifierStore } from '../store/notifier-store.ts'

/** Which deliveries of a merchant to list; an absent field does not restrict. */
export interface DeliveryFilter {
  readonly merchant_id: string
  readonly environment?: Environment
  readonly event?: string
  readonly state?: DeliveryState
  readonly resource_id?: string
  readonly endpoint_id?: string
}

/** A page of deliveries, newest first. */
export interface DeliveryPage {
  readonly deliveries: readonly Delivery[]
  readonly next_page_token: string
}

/** So many documents a call looks at when its filter matches few of them; the token goes on from there. */
const LOOKED_AT_MAX = 2_000
const READ_SIZE = 200
const POSITION = { created_at: 'instant', delivery_id: 'text' } as const

/** Lists deliveries. A page may be short, even empty, before the last one: only an empty token ends the list. */
export async function listDeliveries(
  { deliveries }: NotifierStore,
  filter: DeliveryFilter,
  asked_size: number,
  token: string,
): Promise<DeliveryPage> {
  const size = pageSize(asked_size)
  const { merchant_id, resource_id } = filter
  const [index, fixed] =
    resource_id === undefined
      ? (['by_created', { merchant_id }] as const)
      : (['by_resource', { merchant_id, resource_id }] as const)
  const range = { equals: Object.values(fixed) }
  const found: Delivery[] = []
  let after = positionOf(token, fixed, POSITION)
  for (let looked_at = 0; looked_at < LOOKED_AT_MAX; looked_at += READ_SIZE) {
    const options = { limit: READ_SIZE, reverse: true, ...(after ? { after } : {}) }
    const page = await deliveries.find(index, range, options)
    for (const delivery of page) {
      const { created_at, delivery_id } = delivery
      after = { ...fixed, created_at, delivery_id }
      if (matches(delivery, filter)) found.push(delivery)
      if (found.length === size) return { deliveries: found, next_page_token: pageToken(after) }
    }
    if (page.length < READ_SIZE) return { deliveries: found, next_page_token: '' }
  }
  return { deliveries: found, next_page_token: after ? pageToken(after) : '' }
}

function matches(delivery: Delivery, { environment, event, state, endpoint_id }: DeliveryFilter): boolean {
  return (
    (environment === undefined || delivery.environment === environment) &&
    (event === undefined || delivery.event === event) &&
    (state === undefined || delivery.state === state) &&
    (endpoint_id === undefined || delivery.endpoint_id === endpoint_id)
  )
}

/** One delivery by the id that the merchant sees as `X-Webhook-Id`; 1003 when there is none. */
export async function getDelivery({ deliveries }: NotifierStore, delivery_id: string): Promise<Delivery> {
  const [delivery] = await deliveries.find('by_delivery_id', { equals: [delivery_id] }, { limit: 1 })
  if (!delivery) throw new PublicError(1003, { details: { description: 'delivery_id' } })
  return delivery
}
