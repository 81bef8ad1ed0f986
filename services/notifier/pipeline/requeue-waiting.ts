import { clock } from '#lib/base/time.ts'
import { update } from '#lib/patterns/update.ts'
import { queueAgain, queueProbe, tryEarly } from '../domain/attempt.ts'
import { breakerState, takesEarly } from '../domain/breaker.ts'
import { type Delivery, type DeliveryStatus, deliveryKeyOf } from '../domain/delivery.ts'
import { type Deliveries, findNextDue, findWaiting } from '../store/deliveries.ts'
import type { OwnedDestination } from './owned-destination.ts'

interface RequeueWaitingDeps {
  readonly deliveries: Deliveries
  /** Whether there is a secret to sign the delivery with now. */
  hasSecret(delivery: Delivery): Promise<boolean>
  storeNow(): Date
  /** Called with each delivery that waits for its next attempt again. */
  onQueued(owned: OwnedDestination, delivery: Delivery): void
}

type Requeue = (delivery: Delivery, at: Date) => Delivery

/** The deliveries of one batch, and the batches of one call, so that a large backlog takes bounded steps. */
const BATCH_SIZE = 100
const BATCHES_MAX = 10

/**
 * Makes the function that queues the waiting deliveries of a destination again when what they wait for has come: a secret
 * (N7), or the closing of the breaker that cost them their tries (N5). While the breaker waits for a probe and nothing
 * else is due, one of them becomes the probe; if the operator asked for it and none of them waits, the next try that is due later.
 * After a crash in between the next call continues with the others.
 */
export function createRequeueWaiting({ deliveries, hasSecret, storeNow, onQueued }: RequeueWaitingDeps) {
  async function queue(owned: OwnedDestination, waiting: Delivery, requeue: Requeue): Promise<void> {
    const stored = await update(deliveries, deliveryKeyOf(waiting), (current) =>
      current.waits_since === undefined || current.status !== waiting.status
        ? undefined
        : requeue(current, storeNow()),
    )
    if (stored !== undefined) onQueued(owned, stored)
  }

  /** Queues all that wait in a status. Returns whether some may be left. */
  async function queueAll(
    owned: OwnedDestination,
    status: DeliveryStatus,
    requeue: Requeue,
  ): Promise<boolean> {
    for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
      const waiting = await findWaiting(deliveries, owned.destination_key, status, BATCH_SIZE)
      await Promise.all(waiting.map((delivery) => queue(owned, delivery, requeue)))
      if (waiting.length < BATCH_SIZE) return false
      owned.used_at_ms = clock.monotonic_ms()
    }
    return true
  }

  async function queueBlocked(owned: OwnedDestination): Promise<boolean> {
    const [first] = await findWaiting(deliveries, owned.destination_key, 'blocked', 1)
    if (first === undefined) return false
    if (!(await hasSecret(first))) return true
    return await queueAll(owned, 'blocked', (delivery, at) => queueAgain(delivery, at, delivery.tries))
  }

  async function queueDead(owned: OwnedDestination): Promise<boolean> {
    const state = breakerState(owned.breaker, storeNow())
    if (state === 'closed') return await queueAll(owned, 'dead', (delivery, at) => queueAgain(delivery, at))
    const [first] = await findWaiting(deliveries, owned.destination_key, 'dead', 1)
    const has_attempts = owned.in_progress > 0 || owned.queue.firstDueMs() < Number.POSITIVE_INFINITY
    if (state === 'half_open' && !has_attempts) {
      // If the probe fails, its delivery waits again, behind the others.
      if (first !== undefined) await queue(owned, first, queueProbe)
      else await takeEarly(owned)
    }
    return first !== undefined
  }

  /** Makes the next delivery that is due later the probe that the operator asked for; at most one for each time of asking. */
  async function takeEarly(owned: OwnedDestination): Promise<void> {
    const { breaker, destination_key } = owned
    if (!takesEarly(breaker, storeNow()) || owned.early_asked_at === breaker.asked_at) return
    owned.early_asked_at = breaker.asked_at
    const next = await findNextDue(deliveries, destination_key)
    if (next === undefined) return
    const stored = await update(deliveries, deliveryKeyOf(next), (current) => tryEarly(current, storeNow()))
    if (stored !== undefined) onQueued(owned, stored)
  }

  return async (owned: OwnedDestination): Promise<void> => {
    if (!owned.may_have_waiting) return
    // A delivery that begins to wait meanwhile sets it again.
    owned.may_have_waiting = false
    let is_left = true
    try {
      const left = await Promise.all([queueBlocked(owned), queueDead(owned)])
      is_left = left.includes(true)
    } finally {
      if (is_left) owned.may_have_waiting = true
    }
  }
}
