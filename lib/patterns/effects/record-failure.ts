import { now } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import type { DocumentChange } from './define-effect.ts'
import { countedTries, dueAgain, type Effect, type EffectDocument } from './effect.ts'

const failures = counter('multihub_effect_failures_total', 'Failed tries of effects.', ['kind'])
const stuck_effects = counter('multihub_effects_stuck_total', 'Effects that used up their tries.', ['kind'])

/**
 * Logs and counts a failed try, and returns how it changes the document. The effect is due again after `wait_ms`, or
 * stuck when its tries are used up. The document keeps only the name of the error. The log line and the counter are
 * written by the call, not by the returned change, which a conflict repeats.
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
  if (is_stuck) log.error(fields, 'effect is stuck after its last try; retry it when the cause is fixed')
  else log.warn(fields, 'effect failed and will be retried')
  const { lease: _released, ...rest } = effect
  const failed: Effect = {
    ...dueAgain(rest, new Date(now().getTime() + wait_ms)),
    failure: error instanceof Error ? error.name : 'unknown',
    ...(is_stuck ? { stuck: true } : {}),
  }
  const replace = (each: Effect): Effect => (each.id === effect.id ? failed : each)
  return (document) => ({ ...document, effects: document.effects.map(replace) })
}

/** Gives a stuck effect all its tries again, due at once; `undefined` when the document has no such effect. */
export function resetStuckEffect<D extends EffectDocument>(document: D, effect_id: string): D | undefined {
  if (!document.effects.some(({ id, stuck }) => id === effect_id && stuck)) return undefined
  const reset = (effect: Effect): Effect => (effect.id === effect_id ? resetTries(effect) : effect)
  return { ...document, effects: document.effects.map(reset) }
}

function resetTries({ stuck: _stuck, failure: _failure, ...rest }: Effect): Effect {
  return dueAgain({ ...rest, tries_at_retry: rest.tries }, now())
}
