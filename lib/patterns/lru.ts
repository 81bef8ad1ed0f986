/** A map that holds at most `max` entries: one more pushes out the entry that went unused for longest. */
export interface Lru<V> {
  /** The entry, which becomes the most recently used. */
  get(key: string): V | undefined
  set(key: string, value: V): void
  delete(key: string): void
  deleteWhere(matches: (value: V) => boolean): void
  /** The entries, the one that went unused for longest first; they may change meanwhile, as those of a map may. */
  values(): IterableIterator<V>
  clear(): void
}

/**
 * Makes an empty one; `pushedOut` is told of what had to make room. A JavaScript map remembers the order of insertion,
 * which is all that it takes.
 */
export function createLru<V>(max: number, pushedOut: (value: V) => void = () => {}): Lru<V> {
  const entries = new Map<string, V>()
  const putNewest = (key: string, value: V): void => {
    entries.delete(key)
    entries.set(key, value)
  }
  return {
    get(key) {
      const value = entries.get(key)
      if (value !== undefined) putNewest(key, value)
      return value
    },
    set(key, value) {
      putNewest(key, value)
      if (entries.size <= max) return
      const { value: oldest } = entries.entries().next()
      if (oldest === undefined) return
      entries.delete(oldest[0])
      pushedOut(oldest[1])
    },
    delete(key) {
      entries.delete(key)
    },
    deleteWhere(matches) {
      for (const [key, value] of entries) if (matches(value)) entries.delete(key)
    },
    values() {
      return entries.values()
    },
    clear() {
      entries.clear()
    },
  }
}
