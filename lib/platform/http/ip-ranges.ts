import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** An IP address. */
export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** A set of addresses and CIDR ranges. */
export interface IpRanges {
  contain(address: string): boolean
}

type Range = readonly [address: IpAddress, prefix_length: number]

/** Makes a list; `undefined` when one of its entries is no address or range, for then it says nothing reliable. */
export function parseIpRanges(entries: readonly string[]): IpRanges | undefined {
  const ranges: Range[] = []
  for (const entry of entries) {
    const range = parseRange(entry)
    if (range === undefined) return undefined
    ranges.push(range)
  }
  return {
    contain(text) {
      const address = parseIpAddress(text)
      return address !== undefined && ranges.some((range) => isWithin(address, range))
    },
  }
}

/** Whether a text is an address or a CIDR range. Whoever keeps one for others asks this, so that all can read it. */
export function isIpRange(text: string): boolean {
  return parseRange(text) !== undefined
}

/**
 * Reads an address; `undefined` when it is none, or one of a zone. IPv4 written as IPv6 (`::ffff:a.b.c.d`) is the IPv4
 * that it reaches. The library takes spellings such as 127.1; Node's check does not.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  return isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.process(text)
}

const PREFIX_LENGTH = /^(?:0|[1-9][0-9]{0,2})$/

function parseRange(entry: string): Range | undefined {
  const [text = '', prefix, ...more] = entry.split('/')
  const address = parseIpAddress(text)
  if (address === undefined || more.length > 0) return undefined
  const bits = address.kind() === 'ipv4' ? 32 : 128
  if (prefix === undefined) return [address, bits]
  if (!PREFIX_LENGTH.test(prefix)) return undefined
  const mapped_bits = bits === 32 && text.includes(':') ? 96 : 0
  const length = Number(prefix) - mapped_bits
  return length >= 0 && length <= bits ? [address, length] : undefined
}

function isWithin(address: IpAddress, [range, prefix_length]: Range): boolean {
  return address.kind() === range.kind() && address.match(range, prefix_length)
}
