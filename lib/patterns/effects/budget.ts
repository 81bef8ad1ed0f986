/** Gives back what a budget reserved. Only the first call has an effect. */
export type Release = () => void

/** Bounds how many effects of one kind this process has leased at once. `D` is the document of the effect. */
export interface Budget<D> {
  /** Whether one more effect may be leased: for this document, or for any document when none is given. */
  hasRoom(document?: D): boolean
  /** Reserves room for one effect before it is leased; `undefined` without room. It is released when the effect has run. */
  reserve(document: D): Release | undefined
}

/** Creates a budget of `max` effects at once. */
export function createBudget(max: number): Budget<unknown> {
  let reserved = 0
  const hasRoom = (): boolean => reserved < max
  return {
    hasRoom,
    reserve() {
      if (!hasRoom()) return undefined
      reserved += 1
      return once(() => {
        reserved -= 1
      })
    },
  }
}

/**
 * Creates a budget of `max_per_key` effects at once for each key, such as a provider account. A party that hangs uses up
 * its own budget only. `keyOf` reads the key from the document.
 */
export function createKeyedBudget<D>(max_per_key: number, keyOf: (document: D) => string): Budget<D> {
  const reserved = new Map<string, number>()
  const reservedFor = (key: string): number => reserved.get(key) ?? 0
  return {
    hasRoom: (document) => document === undefined || reservedFor(keyOf(document)) < max_per_key,
    reserve(document) {
      const key = keyOf(document)
      const before = reservedFor(key)
      if (before >= max_per_key) return undefined
      reserved.set(key, before + 1)
      return once(() => {
        const left = reservedFor(key) - 1
        if (left === 0) reserved.delete(key)
        else reserved.set(key, left)
      })
    },
  }
}

/**
 * Creates a budget of `max` effects at once, of which each key, such as a merchant, has at most `max_per_key`. So a key
 * whose effects all hang delays those of others only while several such keys use up the total.
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
      if (!releaseShare) return undefined
      const releaseTotal = total.reserve(document)
      if (!releaseTotal) {
        releaseShare()
        return undefined
      }
      return () => {
        releaseShare()
        releaseTotal()
      }
    },
  }
}

/** Makes a `Release` of an action, so that a second call does nothing. */
export function once(action: () => void): Release {
  let is_done = false
  return () => {
    if (is_done) return
    is_done = true
    action()
  }
}
