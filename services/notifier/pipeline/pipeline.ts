/**
 * The pipeline of a notifier. Its ideas, in the order in which a delivery meets them:
 *
 *     queueDelivery ── stores the delivery ──┐                     another notifier
 *           │                                │ not its owner             ▲ wake over the bus
 *           │ owner with a free slot         ▼                           │
 *           │                          assignment ── which notifier should own the destination?
 *           │                                │ takes the lease        ┌──────────────────────┐
 *           │                                ▼                        │ renew-leases: renews │
 *           │             ownership, lease: one owner per destination │ each lease in time,  │
 *           │                                │                        │ or gives it back     │
 *           │                                ▼                        └──────────────────────┘
 *           │             scheduler: reads what is due in the next seconds (refill),
 *           │                  sets a timer for what is due later  ◄── requeue-waiting: what waited
 *           │                                │                         for a secret or a breaker
 *           │                                ▼
 *           │             fair-queue: merchants, hosts and destinations in round robin
 *           │                                │ takes a slot in each scope (slots)
 *           ▼                                ▼
 *        attempts: store the attempt, send it, store its result and the breaker ── wake the scheduler
 *
 * What the store has is the truth. A process keeps the near future of its destinations in memory (owned-destination), and
 * the next owner reads it again.
 */
import { randomHex } from '#lib/base/crypto/random.ts'
import { every, type Timer } from '#lib/base/time.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createBackgroundWork } from '#lib/patterns/background-work.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { createDueWalk } from '#lib/patterns/due-walk.ts'
import { createMembership } from '#lib/patterns/membership/membership.ts'
import type { InsertOptions } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { MakeAttempt } from '../delivery/make-attempt.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { DestinationName } from '../domain/destination.ts'
import type { NotifierStore } from '../store/notifier-store.ts'
import { createAssignment } from './assignment.ts'
import { type Attempts, type AttemptsDeps, createAttempts } from './attempts.ts'
import { createLeaseLimit, createOwnership } from './ownership.ts'
import { findLongestWaiting, measurePipeline, measureWaiting } from './pipeline-metrics.ts'
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
export interface Pipeline {
  /**
   * Stores a delivery unless it exists; resolves when it is durable and will be attempted. Throws `Unavailable`. `options`
   * are for the insert.
   */
  queueDelivery(delivery: Delivery, body: Uint8Array, options?: InsertOptions): Promise<void>
  /** Makes sure that what was queued again in the store for a destination is attempted, now unless it is due later. */
  wake(waiting: DestinationName & Pick<Delivery, 'due_at'>): Promise<void>
  /** Takes its share of the destinations. */
  start(): Promise<void>
  /** Leaves its share to the other notifiers, and goes on with what they do not take. */
  leave(): Promise<void>
  /** Waits for the attempts in progress, which the process aborts, and gives all leases back. */
  stop(): Promise<void>
}

const TICK_MS = 250
const MEASURE_WAITING_MS = 15_000

/** Five missed heartbeats fit into a lease: when it ends, the others know that its holder is gone. */
const HEARTBEAT_MS = 500

/** Creates the pipeline of a process. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const parts = createParts(options)
  const { ownership, scheduler, assignment, membership, background, storeNow } = parts
  const timers: Timer[] = []
  const repeat = (action: () => Promise<void>, message: string, pause_ms = TICK_MS): void => {
    const onError = (error: unknown): void => log.warn({ error }, message)
    timers.push(every(pause_ms, () => background.track(action(), onError), onError))
  }
  return {
    async queueDelivery(delivery, body, insert_options) {
      options.clock_guard.assertTrusted()
      await queueDelivery(parts, delivery, body, insert_options)
    },
    async wake(waiting) {
      await assignment.wakeOwner(waiting, waiting.due_at ?? storeNow())
    },
    async start() {
      await Promise.all([assignment.open(), membership.join()])
      repeat(parts.renew, 'leases could not be renewed; they are renewed again')
      repeat(parts.measure, 'the longest wait for an owner could not be read; it is tried again')
      repeat(
        parts.measureWaiting,
        'waiting deliveries could not be counted; they are counted again',
        MEASURE_WAITING_MS,
      )
      repeat(parts.takeUnowned, 'waiting destinations could not be read; they are tried again')
    },
    leave: membership.leave,
    async stop() {
      for (const timer of timers) timer.cancel()
      parts.stop()
      await assignment.close()
      await Promise.all([parts.attempts.ended(), background.ended()])
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

/** Logs that notifiers come and go, unless there is only this one: then no destination moves. */
function createChangeReport(): (live_count: number) => void {
  let was_shared = false
  return (count) => {
    const is_shared = count > 1
    if (was_shared || is_shared)
      log.info({ count }, 'the live notifiers changed, and destinations move between them')
    was_shared = is_shared
  }
}

/** Makes the parts of a pipeline and connects them, see the diagram above. */
function createParts({ store, bus, clock_guard, makeAttempt, hasSecret, owned_max }: PipelineOptions) {
  const { deliveries, destinations, members } = store
  const { store_now_ms } = clock_guard
  const self_address = randomHex(8)
  const storeNow = (): Date => new Date(store_now_ms())
  let is_stopping = false

  const background = createBackgroundWork()
  const slots = createSlots()
  const lease_limit = createLeaseLimit(owned_max)
  const membership = createMembership({
    members,
    self_address,
    isFit: clock_guard.isTrusted,
    announce: () => ({}),
    onChange: createChangeReport(),
    heartbeat_ms: HEARTBEAT_MS,
  })
  const { live } = membership
  const lease_deps = { destinations, deliveries, self_address, store_now_ms }
  const ownership = createOwnership({ ...lease_deps, clock_guard, lease_limit, live })
  const isStopping = (): boolean => is_stopping
  const onEnd: AttemptsDeps['onEnd'] = (owned, stored) => {
    if (stored?.waits_since !== undefined) owned.may_have_waiting = true
    else if (stored !== undefined) scheduler.add(owned, stored)
    scheduler.wake(owned)
  }
  const common = { deliveries, ownership, slots, storeNow }
  const attempts: Attempts = createAttempts({ ...common, makeAttempt, isStopping, onEnd })
  const { hasLease } = ownership
  const scheduler: Scheduler = createScheduler({ ...common, ...attempts, hasLease, store_now_ms })
  const requeueWaiting = createRequeueWaiting({ ...common, hasSecret, onQueued: scheduler.add })
  const shared = { ...common, lease_limit, scheduler, background, requeueWaiting, self_address }
  const assignment = createAssignment({ ...shared, bus })
  const renewLeases = createLeaseRenewal({ ...shared, wakeOwner: assignment.wakeOwner })
  const takeUnowned = createDueWalk(destinations, 'by_wake', {
    hasRoom: () => !is_stopping && clock_guard.isTrusted() && lease_limit.hasRoom(),
    visit: assignment.takeUnowned,
  })
  return {
    deliveries,
    ownership,
    scheduler,
    attempts,
    assignment,
    membership,
    background,
    storeNow,
    takeUnowned,
    async renew() {
      attempts.detectSlow()
      await renewLeases()
    },
    async measure() {
      const at = storeNow()
      let waiting_since: Date | undefined
      try {
        waiting_since = await findLongestWaiting(destinations, at)
      } finally {
        measurePipeline(ownership.all(), slots, at, waiting_since)
      }
    },
    measureWaiting: () => measureWaiting(deliveries),
    stop() {
      is_stopping = true
      ownership.close()
    },
  }
}
