import { clock } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Assignment } from './assignment.ts'
import { isAtRest, isIdle, isUnused, type OwnedDestination } from './owned-destination.ts'
import type { Ownership } from './ownership.ts'
import type { Scheduler } from './scheduler.ts'
import type { Shares } from './shares.ts'

/** What the reviews of a process need. */
export interface ReviewsDeps {
  readonly ownership: Ownership
  readonly shares: Pick<Shares, 'isOver'>
  readonly scheduler: Pick<Scheduler, 'refill' | 'remove'>
  /** Queues what is held at a destination, if what it waits for has come. */
  requeueWaiting(owned: OwnedDestination): Promise<void>
  storeNow(): Date
  /** Tells the notifier that should own the destination that this one has given it back. */
  readonly wakeOwner: Assignment['wakeOwner']
}

/** Several reviews fit into a lease, so that one slow write does not lose it. */
const REVIEW_MS = 1_500
const REVIEWS_AT_ONCE_MAX = 64

/**
 * Makes the review of the leased destinations that are due for it. A review renews the lease and looks at the store for
 * what the bus has lost. It gives back a destination without work, and one whose deliveries only wait while its merchant
 * has more than its share. One that another notifier should own begins no further attempts, and is given back when those
 * in progress have ended, so that two notifiers never work on it at once. But while an attempt in progress is slow, further
 * ones begin here: otherwise all deliveries of the destination would wait for the slow one.
 */
export function createReviews({ ownership, shares, scheduler, requeueWaiting, storeNow, wakeOwner }: ReviewsDeps) {
  async function review(owned: OwnedDestination): Promise<void> {
    owned.reviewed_at_ms = clock.monotonic_ms()
    const is_misplaced = !ownership.isPlacedHere(owned.destination_key)
    // One that was dropped meanwhile stays closed.
    if (ownership.get(owned.destination_key) === owned)
      owned.is_open = !is_misplaced || owned.slow_in_progress > 0
    const is_over = isUnused(owned) && shares.isOver(owned.merchant_id)
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
    const before_ms = clock.monotonic_ms() - REVIEW_MS
    const isDue = (owned: OwnedDestination): boolean =>
      owned.reviewed_at_ms <= before_ms || (!owned.is_open && isAtRest(owned))
    const queue = [...ownership.all()].filter(isDue).values()
    const reviewAll = async (): Promise<void> => {
      for (const owned of queue) {
        await review(owned).catch((error: unknown) => {
          const { destination_key } = owned
          log.warn(
            { error, destination_key },
            'a leased destination could not be reviewed; it is tried again',
          )
        })
      }
    }
    await Promise.all(Array.from({ length: REVIEWS_AT_ONCE_MAX }, reviewAll))
  }
}
