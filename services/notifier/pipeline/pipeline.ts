/**
 * The way of an event to its receivers, and the file of each step. The steps from 2 on are the pipeline:
 *
 *  1. `receive-event` finds the destinations of an event (its endpoints, or the payment's own `webhook_url`), stores the
 *     event with the body of its callback, and makes one delivery for each destination.
 *  2. `queue-delivery` stores the delivery. The owner of the destination, if it has a free slot, stores it with the first
 *     attempt and goes on at 7. Everybody else makes sure that there is an owner that looks:
 *  3. `assignment` decides which notifier should own the destination. This process takes it, or wakes the other one over
 *     the bus. One that waits too long is taken by any notifier.
 *  4. `ownership` and `lease`: one owner per destination at a time. `renew-leases` renews each lease in time, or gives it
 *     back; `owned-destination` is what the owner keeps in memory: the deliveries of the next seconds and the breaker.
 *  5. `scheduler` reads what is due soon, and sets a timer for what is due later. `requeue-waiting` queues what waited for a
 *     secret or until the breaker closes.
 *  6. `fair-queue` gives the slots in turn to merchants, to their hosts and to their destinations; `slots` counts the
 *     attempts in progress of each of them.
 *  7. `attempts` stores the attempt, lets `delivery/make-attempt` sign and post it, and stores its result and the breaker. A
 *     retry goes back to 5; a delivery without a try left is dead.
 *
 * The store is the truth. After a crash, the next owner reads from it what the process had in memory.
 */
import { randomHex } from '#lib/base/crypto/random.ts'
import { every, type Timer } from '#lib/base/time.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createBackgroundWork } from '#lib/patterns/background-work.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { createDueWalk } from '#lib/patterns/due-walk.ts'
import { createMembership } from '#lib/patterns/membership/membership.ts'
import { outsideOfActs } from '#lib/store/kept-acts.ts'
import type { InsertOptions } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { MakeAttempt } from '../delivery/make-attempt.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { DestinationName } from '../domain/destination.ts'
import type { NotifierStore } from '../store/notifier-store.ts'
import { createAssignment } from './assignment.ts'
import { type Attempts, createAttempts } from './attempts.ts'
import { createLeaseLimit, createOwnership } from './ownership.ts'
import { measurePipeline, measureWaiting } from './pipeline-metrics.ts'
import { queueDelivery } from './queue-delivery.ts'
import { createLeaseRenewal } from './renew-leases.ts'
import { createRequeueWaiting } from './requeue-waiting.ts'
import { createScheduler, type Scheduler } from './scheduler.ts'
import { createSlots } from './slots.ts'

/** What the pipeline of a notifier needs. */
export interface PipelineOptions {
  readonly store: NotifierStore
  readonly bus: Bus
  readonly clock_guard: ClockGuard
  readonly makeAttempt: MakeAttempt
  /** Whether there is a secret to sign the delivery with now. */
  hasSecret(delivery: Delivery): Promise<boolean>
  /** How many destinations the process leases at most; 10,000 unless given. */
  readonly owned_max?: number
}

/** Delivers callbacks: from the stored delivery to its last attempt, together with the other notifiers. */
export type Pipeline = ReturnType<typeof createPipeline>

const TICK_MS = 250
const MEASURE_WAITING_MS = 15_000

/** Five missed heartbeats fit into a lease: when it ends, the others know that its holder is gone. */
const HEARTBEAT_MS = 500

/** Creates the pipeline of a process: its parts, each connected to those before it, and what the notifier does with them. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: it connects the parts from top to bottom, see the comment above
export function createPipeline(options: PipelineOptions) {
  const { store, bus, clock_guard, makeAttempt, hasSecret, owned_max } = options
  const { deliveries, members } = store
  // Leases are not what an operator changes.
  const destinations = outsideOfActs(store.destinations)
  const { store_now_ms } = clock_guard
  const self_address = randomHex(8)
  const storeNow = (): Date => new Date(store_now_ms())
  const timers: Timer[] = []
  let is_stopping = false
  let was_shared = false

  const background = createBackgroundWork()
  const slots = createSlots()
  const lease_limit = createLeaseLimit(owned_max)
  const membership = createMembership({
    members,
    self_address,
    isFit: clock_guard.isTrusted,
    announce: () => ({}),
    onChange(count) {
      // With only this notifier, no destination moves.
      if (was_shared || count > 1)
        log.info({ count }, 'the live notifiers changed, and destinations move between them')
      was_shared = count > 1
    },
    heartbeat_ms: HEARTBEAT_MS,
  })
  const { live } = membership
  const lease_deps = { destinations, deliveries, self_address, store_now_ms }
  const ownership = createOwnership({ ...lease_deps, clock_guard, lease_limit, live })
  const { hasLease } = ownership
  const common = { deliveries, ownership, slots, storeNow }
  const attempts: Attempts = createAttempts({
    ...common,
    makeAttempt,
    isStopping: () => is_stopping,
    onEnd(owned, stored) {
      if (stored?.waits_since !== undefined) owned.may_have_waiting = true
      else if (stored !== undefined) scheduler.add(owned, stored)
      scheduler.wake(owned)
    },
  })
  const scheduler: Scheduler = createScheduler({ ...common, ...attempts, hasLease, store_now_ms })
  const requeueWaiting = createRequeueWaiting({ ...common, hasSecret, onQueued: scheduler.add })
  const shared = { ...common, lease_limit, scheduler, background, requeueWaiting, self_address }
  const assignment = createAssignment({ ...shared, bus })
  const renewLeases = createLeaseRenewal({ ...shared, wakeOwner: assignment.wakeOwner })
  const takeUnowned = createDueWalk(destinations, 'by_wake', {
    hasRoom: () => !is_stopping && clock_guard.isTrusted() && lease_limit.hasRoom(),
    visit: assignment.takeUnowned,
  })

  function repeat(action: () => Promise<unknown>, message: string, pause_ms = TICK_MS): void {
    const onError = (error: unknown): void => log.warn({ error }, message)
    timers.push(every(pause_ms, () => background.track(action(), onError), onError))
  }

  async function renew(): Promise<void> {
    attempts.detectSlow()
    await renewLeases()
  }

  return {
    /**
     * Stores a delivery unless it exists; resolves when it is durable and will be attempted. Throws `Unavailable`. `options`
     * are for the insert.
     */
    async queueDelivery(delivery: Delivery, body: Uint8Array, insert_options?: InsertOptions): Promise<void> {
      clock_guard.assertTrusted()
      await queueDelivery({ ...common, assignment, attempts, scheduler }, delivery, body, insert_options)
    },
    /** Makes sure that what was queued again in the store for a destination is attempted, now unless it is due later. */
    async wake(waiting: DestinationName & Pick<Delivery, 'due_at'>): Promise<void> {
      await assignment.wakeOwner(waiting, waiting.due_at ?? storeNow())
    },
    /** Takes its share of the destinations. */
    async start(): Promise<void> {
      await Promise.all([assignment.open(), membership.join()])
      repeat(renew, 'leases could not be renewed; they are renewed again')
      repeat(
        () => measurePipeline(destinations, ownership.all(), slots, storeNow()),
        'the longest wait for an owner could not be read; it is tried again',
      )
      repeat(
        () => measureWaiting(deliveries),
        'waiting deliveries could not be counted; they are counted again',
        MEASURE_WAITING_MS,
      )
      repeat(takeUnowned, 'waiting destinations could not be read; they are tried again')
    },
    /** Leaves its share to the other notifiers, and goes on with what they do not take. */
    leave: membership.leave,
    /** Waits for the attempts in progress, which the process aborts, and gives all leases back. */
    async stop(): Promise<void> {
      is_stopping = true
      for (const timer of timers) timer.cancel()
      ownership.close()
      await assignment.close()
      await Promise.all([attempts.ended(), background.ended()])
      const given_back = [...ownership.all()].map((owned) => {
        scheduler.remove(owned)
        return ownership.giveBack(owned)
      })
      for (const result of await Promise.allSettled(given_back))
        if (result.status === 'rejected')
          log.warn({ error: result.reason }, 'a lease could not be given back; it ends by itself')
      await membership.stop()
    },
  }
}
