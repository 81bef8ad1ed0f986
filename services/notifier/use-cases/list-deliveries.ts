import { PublicError } from '#lib/contract/errors/public-error.ts'
import { readPage } from '#lib/patterns/paging/read-page.ts'
import type { Delivery } from '../domain/delivery.ts'
import { type DeliveryFilter, planFilter } from '../domain/delivery-filter.ts'
import { type Deliveries, findDelivery } from '../store/deliveries.ts'

const POSITION = { created_at: 'instant', delivery_id: 'text' } as const

/**
 * Lists deliveries, newest first. One filter is read from its index; with several, a page before the last can be short, even
 * empty: only an empty token ends the list.
 */
export async function listDeliveries(
  deliveries: Pick<Deliveries, 'find'>,
  filter: DeliveryFilter,
  page_size: number,
  page_token: string,
) {
  const { equals, ...plan } = planFilter(filter)
  const list = { collection: deliveries, reverse: true, token_scope: equals, position: POSITION, ...plan }
  const { items, next_page_token } = await readPage<Delivery>(list, { page_size, page_token })
  return { deliveries: items, next_page_token }
}

/** Reads one delivery by the id that the merchant receives as `X-Webhook-Id`. Throws 1003 when it does not exist. */
export async function getDelivery(deliveries: Deliveries, delivery_id: string): Promise<Delivery> {
  const delivery = await findDelivery(deliveries, delivery_id)
  if (!delivery) throw new PublicError(1003, { details: { description: 'delivery_id' } })
  return delivery
}
