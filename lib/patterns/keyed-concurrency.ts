import { PublicError } from '#lib/contract/errors/public-error.ts'

/** Limits the concurrent requests per key, so that one merchant or address cannot use up the capacity of a process. */
export interface KeyedConcurrency {
  /** Counts one more request of the key. Returns the function that ends it. Throws 2002 when the key is at its limit. */
  acquire(key: string): () => void
}

/** Creates a limiter with `max_per_key` concurrent requests per key. Keys without requests take no memory. */
export function createKeyedConcurrency(max_per_key: number): KeyedConcurrency {
  const counts = new Map<string, number>()
  return {
    acquire(key) {
      const count = (counts.get(key) ?? 0) + 1
      if (count > max_per_key) throw new PublicError(2002)
      counts.set(key, count)
      return () => {
        const remaining = (counts.get(key) ?? 0) - 1
        if (remaining > 0) counts.set(key, remaining)
        else counts.delete(key)
      }
    },
  }
}
