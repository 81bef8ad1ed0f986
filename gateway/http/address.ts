import type { IncomingMessage } from 'node:http'
import { type AddressList, parseAddress } from '#lib/platform/http/address-list.ts'

/**
 * Where a request comes from (A7): the socket's address, or the nearest hop of `X-Forwarded-For` that is no trusted
 * proxy. Only what trusted proxies appended is believed. `undefined` when that hop cannot be read.
 */
export function clientAddress(
  request: IncomingMessage,
  trusted: AddressList | undefined,
): string | undefined {
  let address = request.socket.remoteAddress
  const forwarded = String(request.headers['x-forwarded-for'] ?? '')
  const hops = forwarded === '' ? [] : forwarded.split(',').map((hop) => hop.trim())
  while (address !== undefined && trusted?.has(address)) {
    const hop = hops.pop()
    if (hop === undefined) return address
    address = parseAddress(hop) === undefined ? undefined : hop
  }
  return address
}
