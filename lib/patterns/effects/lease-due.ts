import { randomHex } from '#lib/platform/crypto/random.ts'
import { type Effect, type EffectDocument, leasableAtMs, mayRun } from './effect.ts'

/** For how many milliseconds to lease an effect; `undefined` when this process cannot run it now. */
export type LeasePolicy = (candidate: Effect) => number | undefined

/** The effects of a document that can run at `at`. */
export function dueEffects(document: EffectDocument, at: Date): Effect[] {
  return document.effects.filter(
    (candidate) => mayRun(document, candidate) && leasableAtMs(candidate) <= at.getTime(),
  )
}

/**
 * Leases every effect that can run at `at` and that `leaseMs` accepts, each under a new token, and counts the try.
 * Returns the same document when there is nothing to lease.
 */
export function leaseDue<D extends EffectDocument>(document: D, at: Date, leaseMs: LeasePolicy): D {
  const leased = new Map<Effect, Effect>()
  for (const candidate of dueEffects(document, at)) {
    const lease_ms = leaseMs(candidate)
    if (lease_ms === undefined) continue
    const lease = { token: randomHex(12), until: new Date(at.getTime() + lease_ms) }
    leased.set(candidate, { ...candidate, lease, tries: candidate.tries + 1 })
  }
  if (leased.size === 0) return document
  return { ...document, effects: document.effects.map((each) => leased.get(each) ?? each) }
}
