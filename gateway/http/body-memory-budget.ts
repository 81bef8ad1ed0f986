import { HTTP_LIMITS } from './http-limits.ts'

/** Bounds the memory of request bodies whose callers are not authenticated yet, per network and in total. */
export interface BodyMemoryBudget {
  /** Opens the reservation of one body. `networkOf` names the caller's network; it is called for long bodies only. */
  openReservation(networkOf: () => string): BodyReservation
}

/** What one body has reserved. */
export interface BodyReservation {
  /** Reserves memory for the next bytes of the body; `false` when the network or the process has no more. */
  reserve(bytes: number): boolean
  /** Gives everything back; a second call does nothing. */
  release(): void
}

/**
 * Makes the budget of one gateway.
 *
 * The first `short_body_bytes` of each body need no reservation, because the number of requests in progress bounds them.
 * So requests of ordinary size are read however many long bodies are unfinished. Longer bodies share
 * `network_body_memory_bytes` of their network and `body_memory_bytes` of the process.
 */
export function createBodyMemoryBudget(): BodyMemoryBudget {
  /** Holds only networks with a reservation. */
  const bytes_by_network = new Map<string, number>()
  let total_bytes = 0
  return {
    openReservation(networkOf) {
      let network = ''
      let length = 0
      let reserved = 0
      return {
        reserve(bytes) {
          length += bytes
          const needed = Math.max(0, length - HTTP_LIMITS.short_body_bytes) - reserved
          if (needed <= 0) return true
          if (reserved === 0) network = networkOf()
          const network_bytes = (bytes_by_network.get(network) ?? 0) + needed
          if (network_bytes > HTTP_LIMITS.network_body_memory_bytes) return false
          if (total_bytes + needed > HTTP_LIMITS.body_memory_bytes) return false
          bytes_by_network.set(network, network_bytes)
          total_bytes += needed
          reserved += needed
          return true
        },
        release() {
          if (reserved === 0) return
          const network_bytes = (bytes_by_network.get(network) ?? 0) - reserved
          if (network_bytes > 0) bytes_by_network.set(network, network_bytes)
          else bytes_by_network.delete(network)
          total_bytes -= reserved
          reserved = 0
        },
      }
    },
  }
}
