import { HTTP_BOUNDS } from './bounds.ts'

/** Counts what one unfinished body holds beyond what every body may. */
export interface HeldBody {
  /** Whether so many bytes more may be held; they are counted then. */
  take(bytes: number): boolean
  /** Gives all of it back. */
  release(): void
}

/** What is held by the process, and by each address: only those with long unfinished bodies are here. */
const by_address = new Map<string, number>()
let total_bytes = 0

/**
 * Begins to count a body; `from` says whose, when that matters. Bodies come before anybody has proved who he is. So the first
 * `short_body_bytes` of each are always taken, which the number of connections bounds: whatever strangers leave
 * unfinished, a request of ordinary size is read. Longer ones share what their address, and the process, may hold.
 */
export function holdBody(from: () => string): HeldBody {
  let address = ''
  let length = 0
  let counted = 0
  return {
    take(bytes) {
      length += bytes
      const more = Math.max(0, length - HTTP_BOUNDS.short_body_bytes) - counted
      if (more <= 0) return true
      if (counted === 0) address = from()
      const of_address = (by_address.get(address) ?? 0) + more
      if (of_address > HTTP_BOUNDS.held_of_address_bytes) return false
      if (total_bytes + more > HTTP_BOUNDS.held_max_bytes) return false
      by_address.set(address, of_address)
      total_bytes += more
      counted += more
      return true
    },
    release() {
      if (counted === 0) return
      const left = (by_address.get(address) ?? 0) - counted
      if (left > 0) by_address.set(address, left)
      else by_address.delete(address)
      total_bytes -= counted
      counted = 0
    },
  }
}
