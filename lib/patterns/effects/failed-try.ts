import { log } from '#lib/platform/telemetry/log.ts'
import { counter } from '#lib/platform/telemetry/metrics.ts'
import { now } from '#lib/platform/time.ts'
import { countedTries, type Effect, type EffectDocument } from './effect.ts'

const failures = counter('multihub_effect_failures_total', 'Tries of effects that failed.', ['kind'])
const stuck_effects = counter('multihub_effects_stuck_total', 'Effects that used up their tries.', ['kind'])

/**
 * Says once that a try failed; answers how that changes the document, however often that has to be written. The effect
 * is due again after `wait_ms`, or stuck when its tries are used up. Of the error the document keeps only the name.
 */
export function failedTry<D extends EffectDocument>(
  one: Effect,
  tries_max: number,
  wait_ms: number,
  error: unknown,
): (document: D) => D {
  const is_stuck = countedTries(one) >= tries_max
  failures.increment({ kind: one.kind })
  if (is_stuck) stuck_effects.increment({ kind: one.kind })
  const fields = { effect: one.id, kind: one.kind, attempt: one.tries, error }
  if (is_stuck) log.error(fields, 'effect stuck: it waits for the operator')
  else log.warn(fields, 'effect failed: it is tried again')
  const { lease: _released, ...rest } = one
  const replacement: Effect = {
    ...rest,
    due_at: new Date(now().getTime() + wait_ms),
    failure: error instanceof Error ? error.name : 'unknown',
    ...(is_stuck ? { stuck: true } : {}),
  }
  const replaced = (each: Effect): Effect => (each.id === one.id ? replacement : each)
  return (current) => ({ ...current, effects: current.effects.map(replaced) })
}

/** How a stuck effect changes when the operator gives it its tries back. */
export function revived({ stuck: _stuck, failure: _failure, ...rest }: Effect): Effect {
  return { ...rest, forgiven: rest.tries, due_at: now() }
}
