import { randomHex } from '#lib/base/crypto/random.ts'
import type { Release } from '#lib/base/limit.ts'
import type { Budget } from './budget.ts'
import type { BoundEffect } from './define-effect.ts'
import { countedTries, dueAgain, dueEffects, type Effect, type EffectDocument, type Lane } from './effect.ts'

/** How long a lease is, and whether the effect runs again when it expires (`EffectLimits.repeats`). */
export interface LeaseTerms {
  readonly lease_ms: number
  readonly repeats?: boolean
}

/** Room that is reserved for an effect, and the terms of its lease. */
interface Reservation extends LeaseTerms {
  /** Gives the room back. It must be called once the effect has run, or was not leased. */
  readonly release: Release
}

/** Reserves room for an effect that is about to be leased; `undefined` when this process cannot run it now. */
export type Reserve<D> = (document: D, effect: Effect) => Reservation | undefined

/** Which effects this process can lease now. */
export type EffectCapacity<D extends EffectDocument> = ReturnType<typeof createEffectCapacity<D>>

const releaseNothing: Release = () => {}

/**
 * Makes the capacity of one runner. While `mayLease` returns false, such as when the process stops, there is none: neither
 * for the sweeper nor for the writer of a document.
 */
export function createEffectCapacity<D extends EffectDocument>(
  by_kind: ReadonlyMap<string, BoundEffect<D>>,
  mayLease: () => boolean,
) {
  /** Whether all tries are used up. Of an unknown kind they never are. */
  const isExhausted = (effect: Effect): boolean =>
    countedTries(effect) >= (by_kind.get(effect.kind)?.tries_max ?? Number.POSITIVE_INFINITY)
  return {
    /** Whether effects of this lane may be leased at all: a kind of the lane has room, and the process leases effects. */
    hasRoom(lane: Lane): boolean {
      if (!mayLease()) return false
      for (const bound of by_kind.values()) {
        if (bound.lane !== lane) continue
        // Which budget counts is only known with the effect.
        if (typeof bound.budget === 'function' || (bound.budget?.hasRoom() ?? true)) return true
      }
      return false
    },
    /** Whether this process has a handler for the effect, and room for it. Reserves nothing. */
    canRun: (document: D, effect: Effect) => {
      const bound = by_kind.get(effect.kind)
      return bound !== undefined && (budgetOf(bound, effect)?.hasRoom(document) ?? true)
    },
    reserve(document: D, effect: Effect): Reservation | undefined {
      const bound = by_kind.get(effect.kind)
      if (!bound || isExhausted(effect) || !mayLease()) return undefined
      const budget = budgetOf(bound, effect)
      const release = budget ? budget.reserve(document) : releaseNothing
      if (!release) return undefined
      const lease_ms = typeof bound.lease_ms === 'number' ? bound.lease_ms : bound.lease_ms(document, effect)
      return { lease_ms, repeats: bound.repeats ?? false, release }
    },
    isExhausted,
  }
}

function budgetOf<D extends EffectDocument>(
  { budget }: BoundEffect<D>,
  effect: Effect,
): Budget<D> | undefined {
  return typeof budget === 'function' ? budget(effect) : budget
}

/**
 * Leases every effect that can run at `at` and for which `termsOf` gives terms, each under a new token for this run of a process,
 * and counts the try. Returns the same document when there is nothing to lease.
 */
export function leaseDue<D extends EffectDocument>(
  document: D,
  at: Date,
  run: string,
  termsOf: (candidate: Effect) => LeaseTerms | undefined,
): D {
  const leased = new Map<Effect, Effect>()
  for (const candidate of dueEffects(document, at)) {
    const terms = termsOf(candidate)
    if (terms === undefined) continue
    const lease = { token: randomHex(12), until: new Date(at.getTime() + terms.lease_ms), run }
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
 * An effect that is tried again is late since it was first due. The outcome of a failed try has stored that time already; a
 * try that ended in a crash stored nothing, so the next lease stores it.
 */
function triedAgain(effect: Effect): Effect {
  return effect.tries > 0 ? dueAgain(effect, effect.due_at) : effect
}

/**
 * Creates the collection of unused leases of one runner. Leases of different kinds last for different times, so all of
 * them are looked at, but only when the first of them may have expired.
 */
export function createUnusedLeases() {
  const by_token = new Map<string, { readonly until: Date; readonly release: Release }>()
  // The earliest expiry of all leases that were added since the last look; it may be of a lease that was used since.
  let first_until_ms = Number.POSITIVE_INFINITY
  return {
    /** Adds the lease of an effect, with the release of its room. */
    add({ lease }: Effect, release: Release) {
      if (!lease) return
      by_token.set(lease.token, { until: lease.until, release })
      first_until_ms = Math.min(first_until_ms, lease.until.getTime())
    },
    /** Uses the lease of an effect: returns the release of its room, once per lease; `undefined` unless it is here. */
    use({ lease }: Effect): Release | undefined {
      const unused = lease && by_token.get(lease.token)
      if (unused) by_token.delete(lease.token)
      return unused?.release
    },
    /** Releases the room of leases that expired unused, in case a caller never ran their effects. */
    dropExpired(at: Date) {
      if (first_until_ms > at.getTime()) return
      first_until_ms = Number.POSITIVE_INFINITY
      for (const [token, { until, release }] of by_token) {
        if (until > at) {
          first_until_ms = Math.min(first_until_ms, until.getTime())
        } else {
          by_token.delete(token)
          release()
        }
      }
    },
  }
}
