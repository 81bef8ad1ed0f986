import { type IpRanges, parseIpAddress, parseIpRanges } from './ip-ranges.ts'

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
