import { clock } from '#lib/base/time.ts'
import { type InsertOrGetResult, insertOrGet } from '#lib/patterns/update.ts'
import type { InsertOptions } from '#lib/store/store.ts'
import { withTraceparent } from '#lib/telemetry/span.ts'
import { type Delivery, deliveryKeyOf } from '../domain/delivery.ts'
import type { Deliveries } from '../store/deliveries.ts'
import type { Assignment } from './assignment.ts'
import type { Attempts } from './attempts.ts'
import type { OwnedDestination } from './owned-destination.ts'
import type { Ownership } from './ownership.ts'
import type { Scheduler } from './scheduler.ts'

interface QueueDeliveryDeps {
  readonly deliveries: Deliveries
  readonly ownership: Pick<Ownership, 'hasLease'>
  readonly assignment: Pick<Assignment, 'own' | 'wakeOwner'>
  readonly attempts: Pick<Attempts, 'reserve'>
  readonly scheduler: Pick<Scheduler, 'add'>
  storeNow(): Date
}

/**
 * Stores a delivery unless it exists, and makes sure that its attempts follow. An owner with a free slot stores it with
 * the first attempt counted and makes that at once, so that a delivery costs two writes besides the event. `body` is
 * the body of the event, and `options` are for the insert.
 */
export async function queueDelivery(
  deps: QueueDeliveryDeps,
  delivery: Delivery,
  body: Uint8Array,
  options: InsertOptions = {},
): Promise<void> {
  const { assignment, storeNow } = deps
  const owned = await assignment.own(delivery)
  if (owned !== undefined) return queueAtOwner(deps, owned, delivery, body, options)
  const { stored } = await insert(deps, delivery, options)
  if (stored.status === 'pending') await assignment.wakeOwner(delivery, stored.due_at ?? storeNow())
}

async function queueAtOwner(
  deps: QueueDeliveryDeps,
  owned: OwnedDestination,
  delivery: Delivery,
  body: Uint8Array,
  options: InsertOptions,
): Promise<void> {
  const { attempts, ownership, scheduler, assignment, storeNow } = deps
  owned.used_at_ms = clock.monotonic_ms()
  owned.storing += 1
  try {
    const reserved = attempts.reserve(owned, delivery)
    const { stored, is_new } = await insert(deps, reserved?.delivery ?? delivery, options).catch(
      (error: unknown) => {
        reserved?.cancel()
        throw error
      },
    )
    // The next owner finds a delivery that was stored under the lease. Without the lease, that owner may already have
    // read the store before this write, so it must be woken.
    const is_seen = ownership.hasLease(owned)
    if (reserved !== undefined && is_new && is_seen) return reserved.run(stored, body)
    reserved?.cancel()
    if (stored.status !== 'pending') return
    if (is_seen) scheduler.add(owned, stored)
    else await assignment.wakeOwner(delivery, storeNow())
  } finally {
    owned.storing -= 1
  }
}

function insert(
  { deliveries }: QueueDeliveryDeps,
  delivery: Delivery,
  options: InsertOptions,
): Promise<InsertOrGetResult<Delivery>> {
  return insertOrGet(deliveries, deliveryKeyOf(delivery), withTraceparent(delivery), options)
}
