import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A parsed IPv4 or IPv6 address. */
type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

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

/** Decides whether an outgoing connection to an IP address (as text, never a host name) is permitted. */
export type AddressPolicy = (address: string) => boolean

/** IPv4 that is not the public Internet: special-purpose blocks, and the metadata services of cloud providers. */
const IPV4_REFUSED = rangesOf([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])

/** The block of IPv6 that is assigned for global use. Everything outside it is refused. */
const IPV6_GLOBAL = rangesOf(['2000::/3'])

/** Refused parts of that block: protocol assignments and Teredo, documentation, and 6to4, which reaches into IPv4. */
const IPV6_REFUSED = rangesOf(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

/** Permits every address: for destinations that an operator configures, such as a provider's API. */
export const allowAnyAddress: AddressPolicy = () => true

/**
 * Permits public addresses only: for destinations that a merchant names (N9). This stops server-side request forgery:
 * a callback cannot reach loopback, a private network, or a cloud's metadata service. Unknown blocks are refused.
 */
export const allowPublicAddresses: AddressPolicy = (address) => {
  const kind = parseIpAddress(address)?.kind()
  if (kind === 'ipv4') return !IPV4_REFUSED.contain(address)
  return kind === 'ipv6' && IPV6_GLOBAL.contain(address) && !IPV6_REFUSED.contain(address)
}

/** Permits public addresses and these CIDR ranges: for development, where receivers run on this machine (N9, R4). */
export function allowPublicAddressesAnd(cidrs: readonly string[]): AddressPolicy {
  const additional = rangesOf(cidrs)
  return (address) => additional.contain(address) || allowPublicAddresses(address)
}

function rangesOf(cidrs: readonly string[]): IpRanges {
  const ranges = parseIpRanges(cidrs)
  if (ranges === undefined) throw new TypeError('not all entries are IP addresses or CIDR ranges')
  return ranges
}
