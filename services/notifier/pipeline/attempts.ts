import { backoffDelay } from '#lib/base/backoff.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { update } from '#lib/patterns/update.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { AttemptOutcome, MakeAttempt } from '../delivery/make-attempt.ts'
import {
  type AttemptResult,
  beginAttempt,
  blockDelivery,
  postponeAttempt,
  recordAttempt,
} from '../domain/attempt.ts'
import { breakerAfter } from '../domain/breaker.ts'
import { type Delivery, deliveryKeyOf } from '../domain/delivery.ts'
import { hostOf, isOrigin } from '../domain/destination.ts'
import { judgeAttempt } from '../domain/judge-attempt.ts'
import type { Deliveries } from '../store/deliveries.ts'
import { type DueDelivery, isRefused, type OwnedDestination, slotUserOf } from './owned-destination.ts'
import type { Ownership } from './ownership.ts'
import { countAttempt, countBreakerChange, countIfDead } from './pipeline-metrics.ts'
import type { Slot, Slots } from './slots.ts'

interface AttemptsDeps {
  readonly deliveries: Deliveries
  readonly ownership: Pick<Ownership, 'hasLease' | 'save'>
  readonly slots: Slots
  readonly makeAttempt: MakeAttempt
  /** The present time by the clock of the store. */
  storeNow(): Date
  isStopping(): boolean
  /** Called when an attempt has ended, with the delivery as it is stored then if that is known. */
  onEnd(owned: OwnedDestination, stored: Stored<Delivery> | undefined): void
}

/** The attempts of a process. */
export type Attempts = ReturnType<typeof createAttempts>

interface InProgress {
  readonly owned: OwnedDestination
  readonly slot: Slot
  readonly since_ms: number
  /** Whether it takes too long. It counts in `slow_in_progress` of its destination then. */
  is_slow: boolean
  /** Resolves when the attempt has ended. */
  readonly ended: Promise<void>
}

/**
 * Creates the attempts of a process. Each one is stored before its request leaves, and its result is written only while
 * its fence is in the document. The result of an attempt that another process has begun again is dropped.
 */
export function createAttempts(deps: AttemptsDeps) {
  const { ownership, slots, storeNow, onEnd } = deps
  const in_progress = new Map<string, InProgress>()

  /** Keeps the slot, and the delivery out of the queue, until `end` is called or the work of `endAfter` has ended. */
  function occupy(owned: OwnedDestination, delivery_id: string, slot: Slot) {
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const attempt: InProgress = { owned, slot, since_ms: clock.monotonic_ms(), is_slow: false, ended }
    in_progress.set(delivery_id, attempt)
    owned.in_progress += 1
    owned.used_at_ms = clock.monotonic_ms()
    function end(stored?: Stored<Delivery>): void {
      in_progress.delete(delivery_id)
      owned.in_progress -= 1
      if (attempt.is_slow) owned.slow_in_progress -= 1
      slot.release()
      resolve()
      onEnd(owned, stored)
    }
    function endAfter(work: Promise<Stored<Delivery> | undefined>): void {
      work.then(end, (error: unknown) => {
        // Whatever is stored now, an index has it, and the next renewal of the lease reads it.
        owned.has_more.first = true
        owned.has_more.retry = true
        owned.may_have_waiting = true
        if (!(error instanceof Conflict))
          log.warn({ error, delivery_id }, 'a delivery attempt was interrupted')
        end()
      })
    }
    return { end, endAfter }
  }

  return {
    isInProgress: (delivery_id: string): boolean => in_progress.has(delivery_id),
    /**
     * The right to make the first attempt of a delivery that is about to be stored. `undefined` when it cannot begin now:
     * without a slot, behind those that wait for one, or with an open breaker.
     */
    reserve(owned: OwnedDestination, delivery: Delivery) {
      const { delivery_id, merchant_id, environment, url } = delivery
      const at = storeNow()
      if (owned.breaker.opened_at !== undefined || !ownership.hasLease(owned)) return undefined
      const begun = beginAttempt(delivery, owned.token, at)
      if (begun === undefined || in_progress.has(delivery_id)) return undefined
      const user = { merchant_id, environment, host: hostOf(url), try_kind: 'first' } as const
      const { slot } = slots.take(slotUserOf(owned, user))
      if (slot === undefined) return undefined
      const { end, endAfter } = occupy(owned, delivery_id, slot)
      return {
        /** The delivery with this attempt counted, which is what must be stored. */
        delivery: begun,
        /** Makes the attempt in the background. `body` is the body of the event. */
        run: (stored: Stored<Delivery>, body: Uint8Array): void =>
          endAfter(makeCountedAttempt(deps, owned, stored, { is_probe: false, body })),
        /** Gives the right back: the delivery was stored before, or was not stored. */
        cancel: (): void => end(),
      }
    },
    /** Begins the attempt of a delivery that is due. */
    begin(owned: OwnedDestination, due: DueDelivery, slot: Slot): void {
      occupy(owned, due.delivery_id, slot).endAfter(countAndMake(deps, owned, due))
    },
    /** Counts the attempts that take too long as those to sick destinations. */
    detectSlow(): void {
      const before_ms = clock.monotonic_ms() - SLOW_MS
      // They are in the order in which they began, so all after the first young one are young.
      for (const attempt of in_progress.values()) {
        const { owned, slot, since_ms } = attempt
        if (since_ms > before_ms) return
        if (attempt.is_slow) continue
        attempt.is_slow = true
        owned.slow_in_progress += 1
        owned.is_slow = true
        slot.countAsSick()
      }
    },
    /** Resolves when no attempt is in progress. */
    async ended(): Promise<void> {
      while (in_progress.size > 0) await Promise.all([...in_progress.values()].map(({ ended }) => ended))
    },
  }
}

/** Reads a delivery that is due, stores its next attempt and makes it. */
async function countAndMake(
  deps: AttemptsDeps,
  owned: OwnedDestination,
  due: DueDelivery,
): Promise<Stored<Delivery> | undefined> {
  const { deliveries, storeNow } = deps
  const current = await deliveries.get(deliveryKeyOf(due))
  const at = storeNow()
  // It was changed after it was queued: a replay, or another owner.
  if (current?.status !== 'pending' || !current.due_at || current.due_at > at) return current
  const recordUnsent = async (failure: 'breaker_open' | 'interrupted'): Promise<Stored<Delivery>> => {
    countAttempt(current, failure)
    const result = { started_at: at, duration_ms: 0, failure }
    const recorded = recordAttempt(current, result, at, randomFraction())
    const stored = await deliveries.replace(recorded, current.version)
    countIfDead(current, stored)
    return stored
  }
  if (isRefused(owned, at)) return recordUnsent('breaker_open')
  const begun = beginAttempt(current, owned.token, at)
  if (begun === undefined) return recordUnsent('interrupted')
  const is_probe = owned.breaker.opened_at !== undefined
  if (is_probe) owned.is_probing = true
  try {
    const stored = await deliveries.replace(begun, current.version)
    return await makeCountedAttempt(deps, owned, stored, { is_probe })
  } finally {
    if (is_probe) owned.is_probing = false
  }
}

/** What an attempt needs that is stored already. */
type CountedAttemptDeps = Omit<AttemptsDeps, 'slots' | 'onEnd'>

/** A receiver that needs longer holds slots for long: it counts as sick. */
const SLOW_MS = 2_000

const RESULT_BACKOFF = { first_ms: 50, max_ms: 1_000 }
/** For how long a result is written again during an outage. Without it, a callback that was delivered is repeated. */
const RESULT_KEPT_MS = 300_000

/**
 * Makes an attempt that is stored already, and writes its result. Returns the delivery after it; `undefined` when this
 * process has lost the lease before the attempt or the fence after it: another one makes the attempt then.
 */
export async function makeCountedAttempt(
  deps: CountedAttemptDeps,
  owned: OwnedDestination,
  begun: Stored<Delivery>,
  { is_probe, body }: { readonly is_probe: boolean; readonly body?: Uint8Array },
): Promise<Stored<Delivery> | undefined> {
  const { ownership, makeAttempt, storeNow } = deps
  if (!ownership.hasLease(owned)) return undefined
  const began_ms = clock.monotonic_ms()
  const outcome = await makeAttempt(begun, { body, hasLease: () => ownership.hasLease(owned) })
  countAttempt(begun, outcome.kind === 'ended' ? (outcome.result.failure ?? 'delivered') : outcome.kind)
  const at = storeNow()
  // Drawn once, so that a repeated write has the same retry time.
  const random = randomFraction()
  const stored = await writeOutcome(deps, begun, (current) => apply(current, outcome, at, random))
  if (stored === undefined || outcome.kind !== 'ended') return stored
  countIfDead(begun, stored)
  if (outcome.result.failure === undefined) owned.is_slow = clock.monotonic_ms() - began_ms >= SLOW_MS
  await updateBreaker(deps, owned, begun, outcome.result, is_probe)
  return stored
}

/** Writes what an attempt came to, unless another process has begun it again. */
async function writeOutcome(
  { deliveries, isStopping }: CountedAttemptDeps,
  begun: Stored<Delivery>,
  decide: (current: Delivery) => Delivery,
): Promise<Stored<Delivery> | undefined> {
  const end_ms = clock.monotonic_ms() + RESULT_KEPT_MS
  for (let failures = 1; ; failures += 1) {
    let is_ours = false
    try {
      const stored = await update(
        deliveries,
        deliveryKeyOf(begun),
        (current) => {
          is_ours = isSameAttempt(current, begun)
          return is_ours ? decide(current) : undefined
        },
        begun,
      )
      return is_ours ? stored : undefined
    } catch (error) {
      if (!(error instanceof Unavailable) || isStopping() || clock.monotonic_ms() > end_ms) throw error
      await sleep(backoffDelay(failures, RESULT_BACKOFF, randomFraction()))
    }
  }
}

/** Whether the stored attempt is the one that this process has begun. */
function isSameAttempt({ attempt: current }: Delivery, { attempt: begun }: Delivery): boolean {
  return current !== undefined && current.fence === begun?.fence && current.reclaims === begun.reclaims
}

function apply(current: Delivery, outcome: AttemptOutcome, at: Date, random: number): Delivery {
  if (outcome.kind === 'ended')
    return recordAttempt({ ...current, ...outcome.address }, outcome.result, at, random)
  return outcome.kind === 'blocked'
    ? blockDelivery(current, at)
    : postponeAttempt({ ...current, ...outcome.address }, at, outcome.wait_ms)
}

async function updateBreaker(
  { ownership, storeNow }: CountedAttemptDeps,
  owned: OwnedDestination,
  { url }: Delivery,
  result: AttemptResult,
  is_probe: boolean,
): Promise<void> {
  const { breaker: before, destination_key, merchant_id } = owned
  const verdict = judgeAttempt(destination_key, result)
  const url_hash = isOrigin(destination_key) ? sha256Hex(url).slice(0, 16) : undefined
  const { failure, http_status } = result
  const judged = { verdict, is_probe, url: url_hash, ...(failure && { failure: { failure, http_status } }) }
  owned.breaker = breakerAfter(before, judged, storeNow())
  const { opened_at } = owned.breaker
  const has_changed = (opened_at === undefined) !== (before.opened_at === undefined)
  if (has_changed) {
    const to = opened_at === undefined ? 'closed' : 'open'
    countBreakerChange(to)
    log.warn(
      { destination_key, merchant_id, state: to, reason: result.failure ?? 'delivered' },
      'the breaker of a callback destination changed',
    )
  }
  // The next owner must see it too. The next renewal of the lease repeats a write that fails.
  if (has_changed || is_probe) await ownership.save(owned)
}
