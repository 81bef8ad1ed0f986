import { createKeyedCount, type Release } from '#lib/base/limit.ts'

/** Bounds how many effects of one kind this process has leased at once. `D` is the document of the effect. */
export interface Budget<D> {
  /** Whether one more effect may be leased: for this document, or for any document when none is given. */
  hasRoom(document?: D): boolean
  /** Reserves room for one effect before it is leased; `undefined` without room. It is released when the effect has run. */
  reserve(document: D): Release | undefined
}

/** Creates a budget of `max` effects at once. */
export function createBudget(max: number): Budget<unknown> {
  const reserved = createKeyedCount()
  return { hasRoom: () => reserved.of('') < max, reserve: () => reserved.begin('', max) }
}

/**
 * Creates a budget of `max_per_key` effects at once for each key, such as a provider account. A party that hangs uses up
 * its own budget only. `keyOf` reads the key from the document.
 */
export function createKeyedBudget<D>(max_per_key: number, keyOf: (document: D) => string): Budget<D> {
  const reserved = createKeyedCount()
  return {
    hasRoom: (document) => document === undefined || reserved.of(keyOf(document)) < max_per_key,
    reserve: (document) => reserved.begin(keyOf(document), max_per_key),
  }
}

/**
 * Creates a budget of `max` effects at once, of which each key, such as a merchant, has at most `max_per_key`. So a key
 * whose effects all hang delays the effects of others only while several such keys use up the total.
 */
export function createSharedBudget<D>(
  max: number,
  max_per_key: number,
  keyOf: (document: D) => string,
): Budget<D> {
  const total = createBudget(max)
  const shares = createKeyedBudget(max_per_key, keyOf)
  return {
    hasRoom: (document) => total.hasRoom() && shares.hasRoom(document),
    reserve(document) {
      const releaseShare = shares.reserve(document)
      const releaseTotal = releaseShare && total.reserve(document)
      if (!releaseTotal) {
        releaseShare?.()
        return undefined
      }
      return () => {
        releaseShare()
        releaseTotal()
      }
    },
  }
}
