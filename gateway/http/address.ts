import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A set of addresses and CIDR ranges. */
export interface AddressList {
  has(address: string): boolean
}

type Range = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, prefix_length: number]

/** Makes a list; `undefined` when one of its entries is no address or range, for then it says nothing reliable. */
export function createAddressList(entries: readonly string[]): AddressList | undefined {
  const ranges: Range[] = []
  for (const entry of entries) {
    const range = parseRange(entry)
    if (range === undefined) return undefined
    ranges.push(range)
  }
  return {
    has(text) {
      const address = parseAddress(text)
      return address !== undefined && ranges.some((range) => isWithin(address, range))
    },
  }
}

/** Whether a text is an address or a CIDR range. */
export function isAddressRange(text: string): boolean {
  return parseRange(text) !== undefined
}

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

/** IPv4 written as IPv6 is IPv4. The library takes spellings such as 127.1; Node's check does not. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.process(text)
}

const PREFIX_LENGTH = /^(?:0|[1-9][0-9]{0,2})$/

function parseRange(entry: string): Range | undefined {
  const [text = '', prefix, ...more] = entry.split('/')
  const address = parseAddress(text)
  if (address === undefined || more.length > 0) return undefined
  const bits = address.kind() === 'ipv4' ? 32 : 128
  if (prefix === undefined) return [address, bits]
  if (!PREFIX_LENGTH.test(prefix)) return undefined
  const mapped_bits = bits === 32 && text.includes(':') ? 96 : 0
  const length = Number(prefix) - mapped_bits
  return length >= 0 && length <= bits ? [address, length] : undefined
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, [range, prefix_length]: Range): boolean {
  return address.kind() === range.kind() && address.match(range, prefix_length)
}
