import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { createKeyedConcurrency } from '#lib/patterns/keyed-concurrency.ts'
import type { IpRanges } from '#lib/platform/http/ip-ranges.ts'
import { HTTP_LIMITS } from '../http/http-limits.ts'
import { networkOf } from './network.ts'

/**
 * Closes every new connection of a network that already has `each_max` open connections. So no single customer can use all
 * connections of the process. Trusted proxies are exempt, because they carry the connections of many customers.
 */
export function limitConnectionsPerNetwork(
  server: Server,
  trusted_proxies: IpRanges | undefined,
  each_max: number = HTTP_LIMITS.network_connections_max,
): void {
  const shares = createKeyedConcurrency(each_max)
  server.prependListener('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket
    if (address !== undefined && trusted_proxies?.contain(address)) return
    try {
      socket.once('close', shares.acquire(networkOf(address)))
    } catch {
      socket.destroy()
    }
  })
}
