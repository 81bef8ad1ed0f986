import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { update } from '#lib/patterns/update.ts'
import type { Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { AttemptOutcome, MakeAttempt } from '../delivery/make-attempt.ts'
import { type AttemptResult, blockDelivery, postponeAttempt, recordAttempt } from '../domain/attempt.ts'
import { breakerAfter } from '../domain/breaker.ts'
import { type Delivery, deliveryKeyOf } from '../domain/delivery.ts'
import type { Deliveries } from '../store/deliveries.ts'
import type { OwnedDestination } from './owned-destination.ts'
import type { Ownership } from './ownership.ts'
import { countAttempt, countBreakerChange, countIfDead } from './pipeline-metrics.ts'

/** What a counted attempt needs. */
export interface CountedAttemptDeps {
  readonly deliveries: Deliveries
  readonly ownership: Pick<Ownership, 'hasLease' | 'save'>
  readonly makeAttempt: MakeAttempt
  /** The present time by the clock of the store. */
  storeNow(): Date
  isStopping(): boolean
}

/** A receiver that needs longer holds slots for long: it counts as sick. */
export const SLOW_MS = 2_000

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
  countAttempt(outcome.kind === 'ended' ? (outcome.result.failure ?? 'delivered') : outcome.kind)
  const at = storeNow()
  // Drawn once, so that a repeated write has the same retry time.
  const random = randomFraction()
  const stored = await writeOutcome(deps, begun, (current) => apply(current, outcome, at, random))
  if (stored === undefined || outcome.kind !== 'ended') return stored
  countIfDead(begun, stored)
  if (outcome.result.failure === undefined) owned.is_slow = clock.monotonic_ms() - began_ms >= SLOW_MS
  await updateBreaker(deps, owned, outcome.result, is_probe)
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
  { failure }: AttemptResult,
  is_probe: boolean,
): Promise<void> {
  const before = owned.breaker
  owned.breaker = breakerAfter(before, { succeeded: failure === undefined, is_probe }, storeNow())
  const { opened_at } = owned.breaker
  const has_changed = (opened_at === undefined) !== (before.opened_at === undefined)
  if (has_changed) {
    const to = opened_at === undefined ? 'closed' : 'open'
    countBreakerChange(to)
    const { destination_key } = owned
    log.warn(
      { destination_key, state: to, reason: failure ?? 'delivered' },
      'the breaker of a callback destination changed',
    )
  }
  // The next owner must see it too. The next renewal of the lease repeats a write that fails.
  if (has_changed || is_probe) await ownership.save(owned)
}
