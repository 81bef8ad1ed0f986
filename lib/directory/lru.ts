/** A map that holds at most `max` entries: one more pushes out the entry that went unused for longest. */
export interface Lru<V> {
  /** The entry, which becomes the most recently used. */
  get(key: string): V | undefined
  set(key: string, value: V): void
  delete(key: string): void
  deleteWhere(matches: (value: V) => boolean): void
  clear(): void
}

/** Makes an empty one. A JavaScript map remembers the order of insertion, which is all that it takes. */
export function createLru<V>(max: number): Lru<V> {
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
      const oldest = entries.keys().next()
      if (!oldest.done) entries.delete(oldest.value)
    },
    delete(key) {
      entries.delete(key)
    },
    deleteWhere(matches) {
      for (const [key, value] of entries) if (matches(value)) entries.delete(key)
    },
    clear() {
      entries.clear()
    },
  }
}
