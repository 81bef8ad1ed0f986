/** Entries that take turns. Each is in the ring once, in the order in which the entries were added. */
export interface Ring<T> {
  /** Adds an entry at the end, unless it is there already. */
  add(entry: T): void
  remove(entry: T): void
  /** The entry whose turn it is; it goes to the end. `undefined` when the ring is empty. */
  next(): T | undefined
  isEmpty(): boolean
}

/** Creates an empty ring. The cost of each call is independent of the number of entries. */
export function createRing<T>(): Ring<T> {
  const entries = new Set<T>()
  // One iterator for many turns: a new one would pass all places of removed entries again.
  let turns = entries.values()

  return {
    add: (entry) => void entries.add(entry),
    remove: (entry) => void entries.delete(entry),
    next() {
      if (entries.size === 0) return undefined
      let turn = turns.next()
      if (turn.done) {
        turns = entries.values()
        turn = turns.next()
      }
      if (turn.done) return undefined
      entries.delete(turn.value)
      entries.add(turn.value)
      return turn.value
    },
    isEmpty: () => entries.size === 0,
  }
}

/** Creates a ring in which merchants take turns, and the entries of each merchant among themselves. */
export function createMerchantRing<T extends { readonly merchant_key: string }>(): Ring<T> {
  const merchants = createRing<Ring<T>>()
  const by_merchant = new Map<string, Ring<T>>()

  return {
    add(entry) {
      const { merchant_key } = entry
      const entries = by_merchant.get(merchant_key) ?? createRing<T>()
      by_merchant.set(merchant_key, entries)
      entries.add(entry)
      merchants.add(entries)
    },
    remove(entry) {
      const entries = by_merchant.get(entry.merchant_key)
      entries?.remove(entry)
      if (!entries?.isEmpty()) return
      by_merchant.delete(entry.merchant_key)
      merchants.remove(entries)
    },
    next: () => merchants.next()?.next(),
    isEmpty: () => by_merchant.size === 0,
  }
}
