import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A parsed IPv4 or IPv6 address. */
export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** A set of IP addresses and CIDR ranges. */
export interface IpRanges {
  /** Whether an address is in the set. A text that is not an IP address is in no set. */
  contain(address: string): boolean
}

type IpRange = readonly [address: IpAddress, prefix_length: number]

/** Parses addresses and CIDR ranges; `undefined` when any entry is invalid, so that no list is half applied. */
export function parseIpRanges(entries: readonly string[]): IpRanges | undefined {
  const ranges: IpRange[] = []
  for (const entry of entries) {
    const range = parseIpRange(entry)
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

/** Whether a text is an IP address or a CIDR range, such as `10.0.0.0/8`. Check it before you store one. */
export function isIpRange(text: string): boolean {
  return parseIpRange(text) !== undefined
}

/**
 * Parses an IP address; `undefined` for anything else and for an address with a zone (`fe80::1%eth0`). An IPv4-mapped
 * IPv6 address (`::ffff:a.b.c.d`) becomes the IPv4 address that a connection to it reaches. Node checks the spelling
 * first, because the library also accepts short spellings such as `127.1`.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  return isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.process(text)
}

const PREFIX_LENGTH = /^(?:0|[1-9][0-9]{0,2})$/

function parseIpRange(entry: string): IpRange | undefined {
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

function isWithin(address: IpAddress, [range, prefix_length]: IpRange): boolean {
  return address.kind() === range.kind() && address.match(range, prefix_length)
}
