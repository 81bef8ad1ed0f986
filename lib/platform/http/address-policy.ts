import { type IpRanges, parseIpAddress, parseIpRanges } from './ip-ranges.ts'

/** Whether a connection to an IP address (in text, never a name) is permitted. */
export type AddressPolicy = (address: string) => boolean

/** IPv4 that is not the public Internet: special-purpose blocks, and the metadata services of cloud providers. */
const IPV4_REFUSED = listOf([
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

/** The whole of what is assigned for global use; everything else in IPv6 is refused, known or not. */
const IPV6_GLOBAL = listOf(['2000::/3'])

/** Within that: protocol assignments and Teredo, documentation, and 6to4, which leads into IPv4. */
const IPV6_REFUSED = listOf(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

/** Every address: for destinations that an operator configured, such as a provider's. */
export const allowAnyAddress: AddressPolicy = () => true

/** Public addresses only: for destinations that a merchant names (N9). What is not surely public is refused. */
export const allowPublicAddresses: AddressPolicy = (address) => {
  const kind = parseIpAddress(address)?.kind()
  if (kind === 'ipv4') return !IPV4_REFUSED.contain(address)
  return kind === 'ipv6' && IPV6_GLOBAL.contain(address) && !IPV6_REFUSED.contain(address)
}

/** Public addresses and these ranges in CIDR notation: for development, where receivers run near by (N9, R4). */
export function allowPublicAddressesAnd(cidrs: readonly string[]): AddressPolicy {
  const also = listOf(cidrs)
  return (address) => also.contain(address) || allowPublicAddresses(address)
}

function listOf(cidrs: readonly string[]): IpRanges {
  const list = parseIpRanges(cidrs)
  if (list === undefined) throw new TypeError('these are not all address ranges')
  return list
}
