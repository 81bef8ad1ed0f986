import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Delivery } from '../domain/delivery.ts'
import { type Deliveries, findDelivery } from '../store/deliveries.ts'

/** Reads one delivery by the id that the merchant receives as `X-Webhook-Id`. Throws 1003 when it does not exist. */
export async function getDelivery(deliveries: Deliveries, delivery_id: string): Promise<Delivery> {
  const delivery = await findDelivery(deliveries, delivery_id)
  if (!delivery) throw new PublicError(1003, { details: { description: 'delivery_id' } })
  return delivery
}
