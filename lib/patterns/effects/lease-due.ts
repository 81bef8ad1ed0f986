import { randomHex } from '#lib/base/crypto/random.ts'
import { dueAgain, type Effect, type EffectDocument, leasableAtMs, mayRun } from './effect.ts'

/** How long a lease is, and whether the effect runs again when it expires (`EffectLimits.repeats`). */
export interface LeaseTerms {
  readonly lease_ms: number
  readonly repeats?: boolean
}

/** The terms on which to lease an effect; `undefined` when this process cannot run it now. */
export type LeasePolicy = (candidate: Effect) => LeaseTerms | undefined

/** The effects of a document that can run at `at`. */
export function dueEffects(document: EffectDocument, at: Date): Effect[] {
  return document.effects.filter(
    (candidate) => mayRun(document, candidate) && leasableAtMs(candidate) <= at.getTime(),
  )
}

/**
 * Leases every effect that can run at `at` and that `termsOf` accepts, each under a new token, and counts the try.
 * Returns the same document when there is nothing to lease.
 */
export function leaseDue<D extends EffectDocument>(document: D, at: Date, termsOf: LeasePolicy): D {
  const leased = new Map<Effect, Effect>()
  for (const candidate of dueEffects(document, at)) {
    const terms = termsOf(candidate)
    if (terms === undefined) continue
    const lease = { token: randomHex(12), until: new Date(at.getTime() + terms.lease_ms) }
    const timed = terms.repeats ? nextRun(candidate, lease.until) : triedAgain(candidate)
    leased.set(candidate, { ...timed, lease, tries: candidate.tries + 1 })
  }
  if (leased.size === 0) return document
  return { ...document, effects: document.effects.map((each) => leased.get(each) ?? each) }
}

/** A repeated effect is due again when its lease expires, and is not late before that. */
function nextRun({ first_due_at: _previous, ...effect }: Effect, due_at: Date): Effect {
  return { ...effect, due_at }
}

/**
 * From its second try on, an effect is late since it was due first. A try that failed has stored that already, one that
 * ended in a crash has not.
 */
function triedAgain(effect: Effect): Effect {
  return effect.tries > 0 ? dueAgain(effect, effect.due_at) : effect
}
