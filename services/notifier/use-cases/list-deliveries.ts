import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { readMergedPage } from '#lib/patterns/paging/read-merged-page.ts'
import type { Delivery } from '../domain/delivery.ts'
import { type DeliveryFilter, isSelected, planFilter } from '../domain/delivery-filter.ts'
import { type Deliveries, findDelivery } from '../store/deliveries.ts'

/**
 * Lists deliveries, newest first, with bounded reads. Every page but the last is full. Throws 9000, which names a field, for a
 * combination of filters that no index has.
 */
export async function listDeliveries(
  deliveries: Pick<Deliveries, 'find'>,
  filter: DeliveryFilter,
  page_size: number,
  page_token: string,
) {
  const { ranges, others } = planFilter(filter)
  const [other] = others
  if (other !== undefined) {
    throw fieldError(9000, other, 'absent with these other filters: no index has them together')
  }
  const list = {
    collection: deliveries,
    selections: ranges,
    bounds: { from: filter.created_from, to: filter.created_to },
    reverse: true,
    order: { created_at: 'instant', delivery_id: 'text' },
    key: {},
    token_scope: { list: sha256Hex(JSON.stringify(filter)).slice(0, 16) },
  } as const
  const { items, next_page_token } = await readMergedPage<Delivery>(list, { page_size, page_token })
  // All deliveries of a payment or an endpoint have its environment: all of the page are selected, or none.
  const is_other = items.some((delivery) => !isSelected(delivery, filter))
  return is_other ? { deliveries: [], next_page_token: '' } : { deliveries: items, next_page_token }
}

/** Reads one delivery by the id that the merchant receives as `X-Webhook-Id`. Throws 1003 when it does not exist. */
export async function getDelivery(deliveries: Deliveries, delivery_id: string): Promise<Delivery> {
  const delivery = await findDelivery(deliveries, delivery_id)
  if (!delivery) throw new PublicError(1003, { details: { description: 'delivery_id' } })
  return delivery
}
