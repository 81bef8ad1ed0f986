import { clock } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Assignment } from './assignment.ts'
import { isAtRest, isIdle, isUnused, type OwnedDestination } from './owned-destination.ts'
import type { LeaseLimit, Ownership } from './ownership.ts'
import type { Scheduler } from './scheduler.ts'

interface LeaseRenewalDeps {
  readonly ownership: Ownership
  readonly lease_limit: Pick<LeaseLimit, 'isOverFairShare'>
  readonly scheduler: Pick<Scheduler, 'refill' | 'remove'>
  /** Queues what waits at a destination for a secret or its breaker, if that has come. */
  requeueWaiting(owned: OwnedDestination): Promise<void>
  storeNow(): Date
  /** Wakes the notifier that should own the destination, after this one has given it back. */
  readonly wakeOwner: Assignment['wakeOwner']
}

/** Three renewals fit into a lease, so that one slow write does not lose it. */
const RENEW_EVERY_MS = 1_500
const RENEWALS_AT_ONCE_MAX = 64

/**
 * Makes the function that renews the leases which are due for it, and reads from the store what the bus has lost. A lease is
 * given back instead when the destination has no work, or when its deliveries only wait and its merchant has more leases
 * than its fair share. A destination that another notifier should own begins no further attempts, and is given back when
 * its attempts have ended, so that two notifiers never work on it at once. But while an attempt is slow, further ones begin
 * here: otherwise all deliveries of the destination would wait for the slow one.
 */
export function createLeaseRenewal({
  ownership,
  lease_limit,
  scheduler,
  requeueWaiting,
  storeNow,
  wakeOwner,
}: LeaseRenewalDeps) {
  async function renewOrGiveBack(owned: OwnedDestination): Promise<void> {
    owned.renewed_at_ms = clock.monotonic_ms()
    const is_misplaced = !ownership.isPlacedHere(owned.destination_key)
    // One that was dropped meanwhile stays closed.
    if (ownership.get(owned.destination_key) === owned)
      owned.is_open = !is_misplaced || owned.slow_in_progress > 0
    const is_over = isUnused(owned) && lease_limit.isOverFairShare(owned.merchant_id)
    if ((is_misplaced && isAtRest(owned)) || is_over || isIdle(owned)) {
      scheduler.remove(owned)
      await ownership.giveBack(owned)
      if (is_misplaced) await wakeOwner(owned, storeNow())
      return
    }
    await ownership.save(owned)
    if (!owned.is_open) return
    await requeueWaiting(owned)
    await scheduler.refill(owned)
  }

  return async (): Promise<void> => {
    const before_ms = clock.monotonic_ms() - RENEW_EVERY_MS
    const isDue = (owned: OwnedDestination): boolean =>
      owned.renewed_at_ms <= before_ms || (!owned.is_open && isAtRest(owned))
    const queue = [...ownership.all()].filter(isDue).values()
    const renewAll = async (): Promise<void> => {
      for (const owned of queue) {
        await renewOrGiveBack(owned).catch((error: unknown) => {
          const { destination_key } = owned
          log.warn({ error, destination_key }, 'a leased destination could not be renewed; it is tried again')
        })
      }
    }
    await Promise.all(Array.from({ length: RENEWALS_AT_ONCE_MAX }, renewAll))
  }
}
