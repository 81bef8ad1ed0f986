import type { Budget, Release } from './budget.ts'
import type { BoundEffect } from './define-effect.ts'
import { countedTries, type Effect, type EffectDocument, type Lane } from './effect.ts'
import type { LeaseTerms } from './lease-due.ts'

/** The right to lease one effect. */
export interface LeasePermit extends LeaseTerms {
  /** Gives the effect's share of its budget back. It must be called once the effect has run, or was not leased. */
  readonly release: Release
}

/** Reserves room for an effect that is about to be leased; `undefined` when this process cannot run it now. */
export type Admit<D> = (document: D, effect: Effect) => LeasePermit | undefined

/** Decides which effects this process may lease now. */
export interface Admission<D extends EffectDocument> {
  /** Whether effects of this lane may be leased at all: a kind of the lane has room, and the process leases effects. */
  hasRoom(lane: Lane): boolean
  /** Whether this process has a handler for the effect, and room for it. Reserves nothing. */
  canRun(document: D, effect: Effect): boolean
  readonly admit: Admit<D>
  /** Whether all tries are used up. Of an unknown kind they never are. */
  isExhausted(effect: Effect): boolean
}

const releaseNothing: Release = () => {}

/**
 * Makes the admission of one runner. While `mayLease` returns false, such as when the process stops, nothing is admitted:
 * neither to the sweeper nor to the writer of a document.
 */
export function createAdmission<D extends EffectDocument>(
  by_kind: ReadonlyMap<string, BoundEffect<D>>,
  mayLease: () => boolean,
): Admission<D> {
  const isExhausted = (effect: Effect): boolean =>
    countedTries(effect) >= (by_kind.get(effect.kind)?.tries_max ?? Number.POSITIVE_INFINITY)
  return {
    hasRoom(lane) {
      if (!mayLease()) return false
      for (const bound of by_kind.values()) {
        if (bound.lane !== lane) continue
        // Which budget counts is only known with the effect.
        if (typeof bound.budget === 'function' || (bound.budget?.hasRoom() ?? true)) return true
      }
      return false
    },
    canRun: (document, effect) => {
      const bound = by_kind.get(effect.kind)
      return bound !== undefined && (budgetOf(bound, effect)?.hasRoom(document) ?? true)
    },
    admit(document, effect) {
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
