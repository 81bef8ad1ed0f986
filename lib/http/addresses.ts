import ipaddr from 'ipaddr.js'

/** Whether a connection to an IP address (in text, never a name) is permitted. */
export type AddressRule = (address: string) => boolean

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** IPv4 that is not the public Internet: special-purpose blocks, and the metadata services of cloud providers. */
const IPV4_REFUSED = ranges([
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
const IPV6_GLOBAL = ranges(['2000::/3'])

/** Within that: protocol assignments and Teredo, documentation, and 6to4, which leads into IPv4. */
const IPV6_REFUSED = ranges(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

/** Every address: for destinations that an operator configured, such as a provider's. */
export const anyAddress: AddressRule = () => true

/** Public addresses only: for destinations that a merchant names (N9). What is not surely public is refused. */
export const publicAddressesOnly: AddressRule = (text) => {
  const address = parse(text)
  if (address === undefined) return false
  if (address.kind() === 'ipv4') return !within(address, IPV4_REFUSED)
  return within(address, IPV6_GLOBAL) && !within(address, IPV6_REFUSED)
}

/** Public addresses and these ranges in CIDR notation: for development, where receivers run near by (N9, R4). */
export function publicOr(cidrs: readonly string[]): AddressRule {
  const also = ranges(cidrs)
  return (text) => {
    const address = parse(text)
    return address !== undefined && (within(address, also) || publicAddressesOnly(text))
  }
}

function ranges(cidrs: readonly string[]): readonly Range[] {
  return cidrs.map((cidr) => ipaddr.parseCIDR(cidr))
}

/** IPv4 within IPv6 (`::ffff:a.b.c.d`) is judged as the IPv4 that it reaches. */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined
}

function within(address: ipaddr.IPv4 | ipaddr.IPv6, list: readonly Range[]): boolean {
  return list.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))
}
