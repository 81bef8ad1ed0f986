import { HTTP_LIMITS } from '../http/http-limits.ts'

/** Counts what one body holds beyond what every body may, until its caller has proved who he is and it was read. */
export interface HeldBody {
  /** Whether so many bytes more may be held; they are counted then. */
  take(bytes: number): boolean
  /** Gives all of it back. */
  release(): void
}

/** What is held by the process, and by each network: only those with long bodies are here. */
const by_network = new Map<string, number>()
let total_bytes = 0

/**
 * Begins to count a body; `from` says of which network, when that matters. Bodies come before anybody has proved who he is.
 * So the first `short_body_bytes` of each are always taken, which the number of requests bounds: whatever strangers leave
 * unfinished, a request of ordinary size is read. Longer ones share what their network, and the process, may hold.
 */
export function holdBody(from: () => string): HeldBody {
  let network = ''
  let length = 0
  let counted = 0
  return {
    take(bytes) {
      length += bytes
      const more = Math.max(0, length - HTTP_LIMITS.short_body_bytes) - counted
      if (more <= 0) return true
      if (counted === 0) network = from()
      const of_network = (by_network.get(network) ?? 0) + more
      if (of_network > HTTP_LIMITS.network_body_memory_bytes) return false
      if (total_bytes + more > HTTP_LIMITS.body_memory_bytes) return false
      by_network.set(network, of_network)
      total_bytes += more
      counted += more
      return true
    },
    release() {
      if (counted === 0) return
      const left = (by_network.get(network) ?? 0) - counted
      if (left > 0) by_network.set(network, left)
      else by_network.delete(network)
      total_bytes -= counted
      counted = 0
    },
  }
}
