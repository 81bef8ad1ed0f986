/** Counts what is in progress, by key. Keys without any take no memory. */
export interface KeyedCount {
  /** Counts one more; returns the function that ends it. `undefined` when the key has reached the limit. */
  begin(key: string, limit: number): (() => void) | undefined
}

/** Makes a count that begins empty. */
export function createKeyedCount(): KeyedCount {
  const counts = new Map<string, number>()
  return {
    begin(key, limit) {
      const count = (counts.get(key) ?? 0) + 1
      if (count > limit) return undefined
      counts.set(key, count)
      return () => {
        const remaining = (counts.get(key) ?? 0) - 1
        if (remaining > 0) counts.set(key, remaining)
        else counts.delete(key)
      }
    },
  }
}
