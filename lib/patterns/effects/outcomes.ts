import { now, withTimeout } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { isLoggedByItsOwner } from '#lib/rpc/errors.ts'
import type { Stored } from '#lib/store/store.ts'
import { log, unlimited_log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import type { DocumentChange } from './define-effect.ts'
import { countedTries, dueAgain, type Effect, type EffectDocument } from './effect.ts'

/** An effect that has run, and how its result changes the document. */
export interface EffectOutcome<D> {
  readonly effect: Effect
  /** Whether the change is right without the lease; see `EffectLimits.repeats`. */
  readonly repeats: boolean
  readonly apply: DocumentChange<D>
}

/**
 * Applies the outcomes whose lease tokens are still in the document, and the outcomes of repeated effects, which need no lease.
 * `undefined` when that changes nothing.
 */
export function applyOutcomes<D extends EffectDocument>(
  document: D,
  outcomes: readonly EffectOutcome<D>[],
): D | undefined {
  let next: D = document
  for (const { effect, repeats, apply } of outcomes) {
    const stored = next.effects.find(({ id }) => id === effect.id)
    if (repeats || stored?.lease?.token === effect.lease?.token) next = apply(next)
  }
  return next === document ? undefined : next
}

/** Writes the outcomes of one document's effects, so that the outcomes of one process never conflict with each other. */
export type OutcomeBatcher<D> = ReturnType<typeof createOutcomeBatcher<D>>

/** An outcome that waits for a write, with the promise of that write's result. */
interface WaitingOutcome<D> extends PromiseWithResolvers<Stored<D> | undefined> {
  readonly outcome: EffectOutcome<D>
}

/**
 * Makes the batcher of one document. Writes follow one another, each on the newest version, and each takes along all
 * outcomes that wait. The outcome of an event is only its removal, so it waits for a write of other effects while any
 * are running, but at most for half of the rest of its lease.
 */
export function createOutcomeBatcher<D>(
  document: Stored<D>,
  write: (newest: Stored<D>, outcomes: readonly EffectOutcome<D>[]) => Promise<Stored<D> | undefined>,
) {
  let newest: Stored<D> | undefined = document
  let waiting: WaitingOutcome<D>[] = []
  let last_write: Promise<void> = Promise.resolve()
  const running = new Set<Effect>()
  let idle = Promise.withResolvers<void>()

  /** Writes all outcomes that wait. Never rejects: the result goes to each of these outcomes. */
  async function writeWaiting(): Promise<void> {
    const taken = waiting
    waiting = []
    if (taken.length === 0) return
    try {
      if (newest) {
        newest = await write(
          newest,
          taken.map(({ outcome }) => outcome),
        )
      }
      for (const { resolve } of taken) resolve(newest)
    } catch (error) {
      for (const { reject } of taken) reject(error)
    }
  }

  /** Unregisters an effect when whatever follows from it has begun. */
  function end(effect: Effect): void {
    if (running.delete(effect) && running.size === 0) idle.resolve()
  }

  return {
    /** Registers an effect that is about to run. Its `end` must follow. */
    begin(effect: Effect) {
      if (running.size === 0) idle = Promise.withResolvers()
      running.add(effect)
    },
    /**
     * Resolves with the document after the write that took the outcome; `undefined` when the document is gone. Rejects
     * when that write failed, also when it took other outcomes along.
     */
    async finish(outcome: EffectOutcome<D>): Promise<Stored<D> | undefined> {
      const { effect } = outcome
      const entry: WaitingOutcome<D> = { outcome, ...Promise.withResolvers() }
      waiting.push(entry)
      if (effect.lane === 'event') {
        end(effect)
        const lease_left_ms = (effect.lease?.until.getTime() ?? 0) - now().getTime()
        // A write that takes the outcome along ends the wait. Its failure is thrown below.
        const written = entry.promise.then(
          () => {},
          () => {},
        )
        if (running.size > 0) await withTimeout(Promise.race([idle.promise, written]), lease_left_ms / 2)
      }
      last_write = last_write.then(writeWaiting)
      return entry.promise
    },
    end,
  }
}

const failures = counter('multihub_effect_failures_total', 'Failed tries of effects.', ['kind'])
const stuck_effects = counter('multihub_effects_stuck_total', 'Effects that used up their tries.', ['kind'])

/**
 * Logs and counts a failed try, and returns how it changes the document. The effect is due again after `wait_ms`, or
 * stuck when its tries are used up; with a `tries_max` of 0 it is stuck at once. The document keeps only the name of the
 * error. The log line and the counter are written by the call, not by the returned change, which a conflict repeats.
 */
export function recordFailure<D extends EffectDocument>(
  effect: Effect,
  tries_max: number,
  wait_ms: number,
  error: unknown,
): DocumentChange<D> {
  const is_stuck = countedTries(effect) >= tries_max
  failures.increment({ kind: effect.kind })
  if (is_stuck) stuck_effects.increment({ kind: effect.kind })
  const fields = { effect: effect.id, kind: effect.kind, tries: effect.tries, error }
  if (is_stuck) unlimited_log.error(fields, 'effect is stuck; retry it when the cause is fixed')
  else log[isLoggedElsewhere(error) ? 'debug' : 'warn'](fields, 'effect failed and will be retried')
  const { lease: _released, ...rest } = effect
  const failed: Effect = {
    ...dueAgain(rest, new Date(now().getTime() + wait_ms)),
    failure: error instanceof Error ? error.name : 'unknown',
    ...(is_stuck ? { stuck: true } : {}),
  }
  const replace = (each: Effect): Effect => (each.id === effect.id ? failed : each)
  return (document) => ({ ...document, effects: document.effects.map(replace) })
}

function isLoggedElsewhere(error: unknown): boolean {
  return error instanceof PublicError && isLoggedByItsOwner(error)
}

/**
 * The change after a try that does not count: the effect is due again at once. A handler returns it instead of
 * throwing, when the try failed because a party is down that all effects of the kind need. Until that party is back,
 * the budget of the kind must limit the tries.
 */
export function putBack<D extends EffectDocument>(effect: Effect): DocumentChange<D> {
  const { lease: _released, ...rest } = effect
  // One more of its tries does not count.
  const again = dueAgain({ ...rest, tries_at_retry: (effect.tries_at_retry ?? 0) + 1 }, now())
  // The change of a handler gets the document without the effect that ran, so it is added here, not replaced.
  return (document) => ({ ...document, effects: [...document.effects, again] })
}
