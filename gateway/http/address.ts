import type { IncomingMessage } from 'node:http'
import { type IpRanges, parseIpAddress } from '#lib/http/address-policy.ts'

/**
 * The address of the caller (A7): the socket's address, or the last hop of `X-Forwarded-For` that is not a trusted proxy.
 * Only hops that trusted proxies appended are believed. `undefined` when that hop is not an IP address.
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
