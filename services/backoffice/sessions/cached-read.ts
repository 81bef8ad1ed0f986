import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { clock } from '#lib/base/time.ts'

/** How long an answer of the store may be used. With the read itself, a change counts within 2 s (O3, O21). */
const CACHE_MS = 1_000
const CACHED_MAX = 10_000

interface Cached<T> {
  readonly read_ms: number
  readonly value: Promise<T>
}

/** A read that is repeated at most once per second and key. Calls at the same time share it; a failed one is not kept. */
export function createCachedRead<T>(read: (key: string) => Promise<T>) {
  const cache = new LRUCache<string, Cached<T>>(entriesUpTo(CACHED_MAX))
  const freshOf = (key: string): Cached<T> | undefined => {
    const cached = cache.get(key)
    return cached !== undefined && clock.monotonic_ms() - cached.read_ms < CACHE_MS ? cached : undefined
  }
  return {
    /** Whether `get` needs no read now. */
    has: (key: string): boolean => freshOf(key) !== undefined,
    get(key: string): Promise<T> {
      const cached = freshOf(key)
      if (cached !== undefined) return cached.value
      const fresh: Cached<T> = { read_ms: clock.monotonic_ms(), value: read(key) }
      cache.set(key, fresh)
      fresh.value.catch(() => {
        if (cache.get(key) === fresh) cache.delete(key)
      })
      return fresh.value
    },
    /** Forgets the answer for a key, so that the next `get` reads. */
    forget: (key: string): void => void cache.delete(key),
  }
}
