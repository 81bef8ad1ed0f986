import { clock } from '#lib/base/time.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import { HTTP_LIMITS } from './http-limits.ts'

/** Bounds the memory of request bodies whose callers are not authenticated yet, per network and in total. */
export type BodyMemoryBudget = ReturnType<typeof createBodyMemoryBudget>

/** The memory of one body. */
export type BodyReservation = ReturnType<BodyMemoryBudget['openReservation']>

interface Body {
  bytes: number
  readonly isAuthenticated: () => boolean
  drop(): void
}

/** Bodies that share a limit: the bodies of a network, or of one half of the pool. */
interface Group {
  readonly max_bytes: number
  bytes: number
  /** In the order in which they became long. */
  readonly bodies: Set<Body>
}

interface BodyOwner {
  /** Names the caller's network; called for long bodies only. */
  networkOf(): string
  /** Whether the caller's signature is verified. Such a body is never dropped. */
  isAuthenticated(): boolean
}

/** How long a valid signature speaks for its network, and how many networks are remembered: the last ones. */
const PROVEN_MS = 3_600_000
const PROVEN_NETWORKS_MAX = 10_000

const dropped = counter(
  'multihub_gateway_bodies_dropped_total',
  'Request bodies without a verified signature that were dropped to make room for others.',
)

/**
 * Makes the budget of one gateway.
 *
 * The first `short_body_bytes` of each body need no reservation, because the number of requests in progress bounds them.
 * So requests of ordinary size are read however many long bodies are unfinished. Longer bodies share
 * `network_body_memory_bytes` of their network. Half of `body_memory_bytes` is for networks from which a valid signature came
 * in the last hour, the other half for all others. Where there is no room, the oldest body without a verified signature goes
 * first: a caller that only occupies memory loses it, and one that sends its request at once is served.
 */
export function createBodyMemoryBudget() {
  /** Holds only networks with a reservation. */
  const networks = new Map<string, Group>()
  const proven = newGroup(HTTP_LIMITS.body_memory_bytes / 2)
  const unproven = newGroup(HTTP_LIMITS.body_memory_bytes / 2)
  /** When the last valid signature came from a network, the network that has waited longest in front. */
  const proven_at_ms = new Map<string, number>()

  const isProven = (network: string): boolean => {
    const at_ms = proven_at_ms.get(network)
    return at_ms !== undefined && clock.monotonic_ms() - at_ms < PROVEN_MS
  }
  const groupOf = (network: string): Group => {
    const existing = networks.get(network)
    if (existing !== undefined) return existing
    const created = newGroup(HTTP_LIMITS.network_body_memory_bytes)
    networks.set(network, created)
    return created
  }
  return {
    /** Records that a valid signature came from a network. */
    markProven(network: string): void {
      proven_at_ms.delete(network)
      proven_at_ms.set(network, clock.monotonic_ms())
      const [oldest = network] = proven_at_ms.keys()
      if (proven_at_ms.size > PROVEN_NETWORKS_MAX) proven_at_ms.delete(oldest)
    },
    /** Opens the reservation of one body. */
    openReservation({ networkOf, isAuthenticated }: BodyOwner) {
      let length = 0
      let network = ''
      let groups: readonly Group[] = []
      let is_dropped = false
      let onDropped = (): void => {}
      const release = (): void => {
        for (const group of groups) {
          group.bodies.delete(body)
          group.bytes -= body.bytes
        }
        if (networks.get(network)?.bodies.size === 0) networks.delete(network)
        groups = []
        body.bytes = 0
      }
      const body: Body = {
        bytes: 0,
        isAuthenticated,
        drop() {
          is_dropped = true
          dropped.increment({})
          release()
          onDropped()
        },
      }
      return {
        /** Sets what is called when the body is dropped to make room for others. */
        onDropped(listener: () => void): void {
          onDropped = listener
        },
        /** Reserves memory for the next bytes of the body; `false` when there is none, or the body was dropped. */
        reserve(bytes: number): boolean {
          if (is_dropped) return false
          length += bytes
          const needed = Math.max(0, length - HTTP_LIMITS.short_body_bytes) - body.bytes
          if (needed <= 0) return true
          if (groups.length === 0) {
            network = networkOf()
            groups = [groupOf(network), isProven(network) ? proven : unproven]
            for (const group of groups) group.bodies.add(body)
          }
          if (!groups.every((group) => makeRoom(group, needed, body))) {
            release()
            return false
          }
          for (const group of groups) group.bytes += needed
          body.bytes += needed
          return true
        },
        /** Gives everything back; a second call does nothing. */
        release,
      }
    },
  }
}

function newGroup(max_bytes: number): Group {
  return { max_bytes, bytes: 0, bodies: new Set() }
}

/** Drops the oldest bodies of a group until `needed` bytes fit, but none that is younger than the one that needs them. */
function makeRoom(group: Group, needed: number, asking: Body): boolean {
  for (const body of group.bodies) {
    if (group.bytes + needed <= group.max_bytes || body === asking) break
    if (!body.isAuthenticated()) body.drop()
  }
  return group.bytes + needed <= group.max_bytes
}
