import type { Server, Socket } from 'node:net'
import { createKeyedCount, type Release } from '#lib/base/limit.ts'
import { clock, every } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import type { IpRanges } from './address-policy.ts'
import { networkOf } from './network-of.ts'

/** The connections of a port, with limits that no caller without a credential can turn against others. */
export type ConnectionLimit = ReturnType<typeof createConnectionLimit>

/** The limits of the connections of a port. */
export interface ConnectionLimits {
  /** Open connections. Beyond it the oldest without an authenticated request is closed. */
  readonly connections_max: number
  /** Open connections of one network. Trusted proxies are exempt. */
  readonly network_connections_max: number
  /** Open connections without an authenticated request. */
  readonly unauthenticated_connections_max: number
  /** The same of one network. */
  readonly network_unauthenticated_connections_max: number
  /** The time that a new connection has for its first request before it can be closed to make room for others. */
  readonly unauthenticated_grace_ms: number
  /** The time for the first bytes of a connection. */
  readonly first_bytes_ms: number
  /** Authenticated connections of one caller, if callers are told apart. Further ones count as unauthenticated. */
  readonly caller_connections_max?: number
}

/**
 * The limits of a port for our own processes and for probes: one limit for all networks, because many pods share an address
 * behind a node, and 5 s for the first bytes.
 */
export function internalLimits(connections_max: number): ConnectionLimits {
  return {
    connections_max,
    network_connections_max: connections_max,
    unauthenticated_connections_max: connections_max,
    network_unauthenticated_connections_max: connections_max,
    unauthenticated_grace_ms: 0,
    first_bytes_ms: 5_000,
  }
}

/** How often the times of connections are checked; Node's own default for those of HTTP is 30 s. */
export const CONNECTIONS_CHECK_MS = 1_000

/** Connections that may exist beyond the limit for a moment, while others are being closed. */
const CLOSING_MAX = 1_000

interface Network {
  readonly name: string
  connections: number
  /** In the order in which they were opened. */
  readonly unauthenticated: Set<Connection>
}

interface Connection {
  readonly socket: Socket
  readonly peer: string
  readonly network: Network
  readonly opened_ms: number
  is_counted: boolean
  /** Gives back the place among the connections of its caller. */
  leaveCaller?: Release | undefined
}

const closed = counter(
  'multihub_connections_closed_total',
  'Connections without an authenticated request that were closed, by port: to make room for others, or without first bytes.',
  ['port', 'reason'],
)

/**
 * Makes the limits of one port. `port` names it in the metric.
 *
 * Connections on which no request was authenticated share a part of all connections, and a part per network. Beyond a share
 * the oldest of them is closed, once it had `unauthenticated_grace_ms` to send a request. When the network or the port has
 * no connection left at all, the oldest of them is closed at once. So a new connection is always accepted, unless
 * authenticated connections use the whole limit. Trusted proxies count towards the total only, because they carry the
 * connections of many customers.
 */
export function createConnectionLimit(port: string, limits: ConnectionLimits, trusted_proxies?: IpRanges) {
  const connections = new Map<string, Connection>()
  const networks = new Map<string, Network>()
  /** In the order in which they were opened. */
  const unauthenticated = new Set<Connection>()
  const join = createCallerShares(limits.caller_connections_max)
  let total = 0

  /** Counts a connection as closed, once. */
  const remove = (connection: Connection): void => {
    const { network, peer } = connection
    if (!connection.is_counted) return
    connection.is_counted = false
    // The other side may have opened a new one from the same port already.
    if (connections.get(peer) === connection) connections.delete(peer)
    take(connection, unauthenticated)
    connection.leaveCaller?.()
    network.connections -= 1
    total -= 1
    if (network.connections === 0) networks.delete(network.name)
  }
  const close = (connection: Connection, reason: 'full' | 'silent'): void => {
    closed.increment({ port, reason })
    remove(connection)
    connection.socket.destroy()
  }
  const closeOldest = (candidates: ReadonlySet<Connection>, opened_before_ms: number): boolean => {
    const [oldest] = candidates
    if (oldest === undefined || oldest.opened_ms > opened_before_ms) return false
    close(oldest, 'full')
    return true
  }
  const closeBeyond = (candidates: ReadonlySet<Connection>, max: number, opened_before_ms: number): void => {
    while (candidates.size > max && closeOldest(candidates, opened_before_ms));
  }
  const closeSilent = (): void => {
    const opened_before_ms = clock.monotonic_ms() - limits.first_bytes_ms
    for (const connection of unauthenticated) {
      if (connection.opened_ms > opened_before_ms) return
      if (connection.socket.bytesRead === 0) close(connection, 'silent')
    }
  }
  const add = (socket: Socket): void => {
    const { remoteAddress: address } = socket
    // The other side has gone already.
    if (address === undefined) return void socket.destroy()
    total += 1
    if (trusted_proxies?.contain(address)) {
      socket.once('close', () => {
        total -= 1
      })
      return
    }
    const now_ms = clock.monotonic_ms()
    const network = networkIn(networks, networkOf(address))
    const peer = peerOf(socket)
    const connection: Connection = { socket, peer, network, opened_ms: now_ms, is_counted: true }
    connections.set(connection.peer, connection)
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
    /** Applies the limits to the connections of a server, also to those that are not encrypted yet. */
    attach(server: Server): void {
      server.maxConnections = limits.connections_max + CLOSING_MAX
      server.prependListener('connection', add)
      repeatWhileListening(server, closeSilent)
    },
    /**
     * Records that a request on the connection of a peer, see `peerOf`, was authenticated. From then on only the caller's
     * network limits it. A caller that holds `caller_connections_max` already gains nothing: the connection stays among those
     * that can be closed to make room for others.
     */
    markAuthenticated(peer: string, caller?: string): void {
      const connection = connections.get(peer)
      if (connection === undefined || !unauthenticated.has(connection) || !join(connection, caller)) return
      take(connection, unauthenticated)
    },
  }
}

function repeatWhileListening(server: Server, action: () => void): void {
  server.once('listening', () => {
    const timer = every(
      CONNECTIONS_CHECK_MS,
      async () => action(),
      (error) => log.error({ error }, 'silent connections could not be closed'),
    )
    server.once('close', () => timer.cancel())
  })
}

/** Takes a connection out of those without an authenticated request. */
function take(connection: Connection, unauthenticated: Set<Connection>): void {
  unauthenticated.delete(connection)
  connection.network.unauthenticated.delete(connection)
}

/** Counts the connections of each caller. The function says whether one more is within the share of its caller. */
function createCallerShares(connections_max = Number.POSITIVE_INFINITY) {
  const count = createKeyedCount()
  return (connection: Connection, caller: string | undefined): boolean => {
    if (caller === undefined) return true
    connection.leaveCaller = count.begin(caller, connections_max)
    return connection.leaveCaller !== undefined
  }
}

function networkIn(networks: Map<string, Network>, name: string): Network {
  const existing = networks.get(name)
  if (existing !== undefined) return existing
  const network: Network = { name, connections: 0, unauthenticated: new Set() }
  networks.set(name, network)
  return network
}

/**
 * Names the other end of a connection, as gRPC does. No two open connections of a port have the same, and a TLS socket has the
 * same as the socket that it encrypts.
 */
export function peerOf({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress}:${remotePort}`
}

/** The IP address in the name of the other end of a connection. */
export function addressOfPeer(peer: string): string {
  return peer.slice(0, peer.lastIndexOf(':'))
}
