import { PublicError } from '#lib/contract/errors/public-error.ts'

/** Counts what each of many has under way. */
export interface KeyedConcurrency {
  /** Takes a place for one request; answers what gives it back. Throws 2002 when all of its owner's are taken. */
  acquire(owner: string): () => void
}

/** Makes shares of `each_max` places. Owners with nothing under way take no memory. */
export function createKeyedConcurrency(each_max: number): KeyedConcurrency {
  const under_way = new Map<string, number>()
  return {
    acquire(owner) {
      const count = (under_way.get(owner) ?? 0) + 1
      if (count > each_max) throw new PublicError(2002)
      under_way.set(owner, count)
      return () => {
        const left = (under_way.get(owner) ?? 0) - 1
        if (left > 0) under_way.set(owner, left)
        else under_way.delete(owner)
      }
    },
  }
}
