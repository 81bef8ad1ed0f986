import { update } from '#lib/patterns/update.ts'
import { queueAgain } from '../domain/attempt.ts'
import { type Delivery, deliveryKeyOf } from '../domain/delivery.ts'
import type { Deliveries } from '../store/deliveries.ts'

/** What requeueing a dead delivery reads and writes. */
export interface RequeueDeadDeps {
  readonly deliveries: Deliveries
  /** The present time by the clock of the store. */
  storeNow(): Date
}

/**
 * Queues a dead delivery again under its old id, with fresh tries (N6). Returns the delivery; `undefined` when it is not
 * dead any more. The caller wakes its destination.
 */
export async function requeueDead(
  { deliveries, storeNow }: RequeueDeadDeps,
  dead: Delivery,
): Promise<Delivery | undefined> {
  let is_queued = false
  const stored = await update(deliveries, deliveryKeyOf(dead), (current) => {
    is_queued = current.status === 'dead'
    return is_queued ? queueAgain(current, storeNow()) : undefined
  })
  return is_queued ? stored : undefined
}
