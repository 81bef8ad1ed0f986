import { log } from '#lib/telemetry/log.ts'
import type { Delivery, TryKind } from '../domain/delivery.ts'
import { type Deliveries, findDue } from '../store/deliveries.ts'
import { TRY_KINDS, QUEUED_MAX } from './due-queue.ts'
import type { OwnedDestination } from './owned-destination.ts'

/** What reading due deliveries needs. */
export interface RefillDeps {
  readonly deliveries: Pick<Deliveries, 'find'>
  /** The clock of the store. */
  store_now_ms(): number
  /** Queues a delivery that was read. */
  add(owned: OwnedDestination, delivery: Delivery): void
  /** Called when all that was read is queued. */
  onRead(owned: OwnedDestination): void
}

/** Below this number of queued deliveries of a try_kind the next ones are read. */
export const REFILL_BELOW = QUEUED_MAX / 4

/** How far ahead deliveries are kept in memory: longer than the pause between two refills. */
export const NEAR_FUTURE_MS = 4_000

/** The longest page of the store, see `FindOptions`. */
const READ_MAX = 1_000

/**
 * Makes the function that reads the due deliveries of a destination, up to the room of its queue. It resolves when they
 * are queued and never rejects. A call during a read makes that read again. A try_kind whose backlog is longer than its queue
 * is not read until the queue runs low: what else is stored comes after what is queued.
 */
export function createRefill(deps: RefillDeps): (owned: OwnedDestination) => Promise<void> {
  return async (owned) => {
    if (owned.refilling !== 'no') {
      owned.refilling = 'again'
      return
    }
    try {
      do {
        owned.refilling = 'yes'
        await Promise.all(TRY_KINDS.map((try_kind) => refillLane(deps, owned, try_kind)))
      } while (isAgain(owned))
    } catch (error) {
      owned.has_more.first = true
      owned.has_more.retry = true
      log.warn({ error }, 'due deliveries could not be read; the next review repeats it')
    } finally {
      owned.refilling = 'no'
    }
    deps.onRead(owned)
  }
}

async function refillLane(
  { deliveries, store_now_ms, add }: RefillDeps,
  owned: OwnedDestination,
  try_kind: TryKind,
): Promise<void> {
  if (owned.has_more[try_kind] && owned.queue.size(try_kind) >= REFILL_BELOW) return
  // A delivery that is stored during the read and finds no room sets this again.
  owned.has_more[try_kind] = false
  const to = new Date(store_now_ms() + NEAR_FUTURE_MS)
  // Attempts in progress are still in the index, in front of the others.
  const limit = Math.min(QUEUED_MAX + owned.in_progress, READ_MAX)
  const found = await findDue(deliveries, owned.destination_key, try_kind, to, limit)
  if (found.length === limit) owned.has_more[try_kind] = true
  for (const delivery of found) add(owned, delivery)
}

/** Whether another read was requested during the last one: a function, because the compiler would assume `yes`. */
function isAgain({ refilling }: OwnedDestination): boolean {
  return refilling === 'again'
}
