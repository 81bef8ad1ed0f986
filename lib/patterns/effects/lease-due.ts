import { randomHex } from '#lib/platform/crypto/random.ts'
import { type Effect, type EffectDocument, leasableAtMs, mayRun } from './effect.ts'

/** For how many milliseconds to lease an effect; `undefined` when this process cannot run it now. */
export type LeasePolicy = (candidate: Effect) => number | undefined

/**
 * Leases every effect that can run at `at` and that `leaseMs` accepts, each under a new token, and counts the try.
 * Returns the same document when there is nothing to lease.
 */
export function leaseDue<D extends EffectDocument>(document: D, at: Date, leaseMs: LeasePolicy): D {
  let changed = false
  const effects = document.effects.map((candidate) => {
    if (!mayRun(document, candidate) || leasableAtMs(candidate) > at.getTime()) return candidate
    const lease_ms = leaseMs(candidate)
    if (lease_ms === undefined) return candidate
    changed = true
    const lease = { token: randomHex(12), until: new Date(at.getTime() + lease_ms) }
    return { ...candidate, lease, tries: candidate.tries + 1 }
  })
  return changed ? { ...document, effects } : document
}
