import type { IncomingMessage } from 'node:http'
import { type IpRanges, parseIpAddress } from '#lib/platform/http/ip-ranges.ts'

/**
 * Where a request comes from (A7): the socket's address, or the nearest hop of `X-Forwarded-For` that is no trusted
 * proxy. Only what trusted proxies appended is believed. `undefined` when that hop cannot be read.
 */
export function clientAddress(request: IncomingMessage, trusted: IpRanges | undefined): string | undefined {
  let address = request.socket.remoteAddress
  const forwarded = String(request.headers['x-forwarded-for'] ?? '')
  const hops = forwarded === '' ? [] : forwarded.split(',').map((hop) => hop.trim())
  while (address !== undefined && trusted?.contain(address)) {
    const hop = hops.pop()
    if (hop === undefined) return address
    address = parseIpAddress(hop) === undefined ? undefined : hop
  }
  return address
}
