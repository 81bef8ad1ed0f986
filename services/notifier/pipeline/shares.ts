/** How many destinations a process leases, and how it divides them among merchants when they become scarce. */
export interface Shares {
  /** Counts a destination that was leased. Returns the function that counts it as gone. */
  add(merchant_id: string): () => void
  /** Whether one more destination may be leased: of any merchant, or of this one. */
  hasRoom(merchant_id?: string): boolean
  /** Whether destinations of the merchant that only wait should be given back, to make room for those of others. */
  isOver(merchant_id: string): boolean
}

/** More destinations wait in the store until some of these are given back. */
const OWNED_MAX = 10_000

/** Up to this part of them each merchant leases what it needs; beyond it only those that have less than their share. */
const FREE_PART = 0.75

/** From this part on, merchants with more than their share give back. It is larger, so that nothing goes to and fro. */
const FULL_PART = 0.9

/**
 * Creates the shares of a process. A payment's own `webhook_url` is a destination, so that a merchant can have any number
 * of them. The merchants together leave one more share free, so that none of them keeps a new merchant out.
 */
export function createShares(owned_max = OWNED_MAX): Shares {
  const counts = new Map<string, number>()
  let total = 0
  const countOf = (merchant_id: string): number => counts.get(merchant_id) ?? 0
  const share = (): number => Math.max(1, Math.floor(owned_max / (counts.size + 1)))

  return {
    add(merchant_id) {
      counts.set(merchant_id, countOf(merchant_id) + 1)
      total += 1
      return () => {
        const left = countOf(merchant_id) - 1
        if (left > 0) counts.set(merchant_id, left)
        else counts.delete(merchant_id)
        total -= 1
      }
    },
    hasRoom(merchant_id) {
      if (total >= owned_max) return false
      return merchant_id === undefined || total < owned_max * FREE_PART || countOf(merchant_id) < share()
    },
    isOver: (merchant_id) => total >= owned_max * FULL_PART && countOf(merchant_id) > share(),
  }
}
