import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { clock } from '#lib/base/time.ts'
import type { IpRanges } from '#lib/http/address-policy.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { networkOf } from './request-head.ts'

/** The connections of a gateway, with the limits that no caller without a credential can turn against others. */
export type ConnectionLimit = ReturnType<typeof createConnectionLimit>

type LimitName =
  | 'connections_max'
  | 'network_connections_max'
  | 'unauthenticated_connections_max'
  | 'network_unauthenticated_connections_max'
  | 'unauthenticated_grace_ms'

interface Network {
  readonly name: string
  connections: number
  /** In the order in which they were opened. */
  readonly unauthenticated: Set<Connection>
}

interface Connection {
  readonly socket: Socket
  readonly network: Network
  readonly opened_ms: number
}

const closed = counter(
  'multihub_gateway_connections_closed_total',
  'Connections without an authenticated request that were closed to make room for others.',
)

/**
 * Makes the limits of one gateway.
 *
 * Connections on which no request was authenticated share a small part of all connections, and a smaller one per network.
 * Beyond a share the oldest of them is closed, once it had `unauthenticated_grace_ms` to send a request. When the network
 * or the process has no connection left at all, the oldest of them is closed at once. So a new connection is always
 * accepted, unless authenticated connections use the whole limit. Trusted proxies count towards the total only, because
 * they carry the connections of many customers.
 */
export function createConnectionLimit(
  trusted_proxies: IpRanges | undefined,
  limits: Readonly<Record<LimitName, number>> = HTTP_LIMITS,
) {
  const connections = new Map<Socket, Connection>()
  const networks = new Map<string, Network>()
  /** In the order in which they were opened. */
  const unauthenticated = new Set<Connection>()
  let total = 0

  const networkNamed = (name: string): Network => {
    const existing = networks.get(name)
    if (existing !== undefined) return existing
    const network: Network = { name, connections: 0, unauthenticated: new Set() }
    networks.set(name, network)
    return network
  }
  /** Counts a connection as closed, once. */
  const remove = (connection: Connection): void => {
    if (!connections.delete(connection.socket)) return
    const { network } = connection
    unauthenticated.delete(connection)
    network.unauthenticated.delete(connection)
    network.connections -= 1
    total -= 1
    if (network.connections === 0) networks.delete(network.name)
  }
  const closeOldest = (candidates: ReadonlySet<Connection>, opened_before_ms: number): boolean => {
    const [oldest] = candidates
    if (oldest === undefined || oldest.opened_ms > opened_before_ms) return false
    closed.increment({})
    remove(oldest)
    oldest.socket.destroy()
    return true
  }
  const closeBeyond = (candidates: ReadonlySet<Connection>, max: number, opened_before_ms: number): void => {
    while (candidates.size > max && closeOldest(candidates, opened_before_ms));
  }
  const add = (socket: Socket): void => {
    const { remoteAddress: address } = socket
    total += 1
    if (address !== undefined && trusted_proxies?.contain(address)) {
      socket.once('close', () => {
        total -= 1
      })
      return
    }
    const now_ms = clock.monotonic_ms()
    const network = networkNamed(networkOf(address))
    const connection: Connection = { socket, network, opened_ms: now_ms }
    connections.set(socket, connection)
    unauthenticated.add(connection)
    network.unauthenticated.add(connection)
    network.connections += 1
    socket.once('close', () => remove(connection))

    const before_grace_ms = now_ms - limits.unauthenticated_grace_ms
    closeBeyond(network.unauthenticated, limits.network_unauthenticated_connections_max, before_grace_ms)
    closeBeyond(unauthenticated, limits.unauthenticated_connections_max, before_grace_ms)
    if (network.connections > limits.network_connections_max) closeOldest(network.unauthenticated, now_ms)
    if (total > limits.connections_max) closeOldest(unauthenticated, now_ms)
  }
  return {
    /** Applies the limits to the connections of a server. */
    attach(server: Server): void {
      server.prependListener('connection', add)
    },
    /** Records that a request on the connection was authenticated. From then on only the caller's network limits it. */
    markAuthenticated(socket: Socket): void {
      const connection = connections.get(socket)
      if (connection === undefined || !unauthenticated.delete(connection)) return
      connection.network.unauthenticated.delete(connection)
    },
  }
}
