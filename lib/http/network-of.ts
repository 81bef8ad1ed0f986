import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * The network of an address: the unit that shares a budget of unauthenticated resources. It is an IPv4 address, or an
 * IPv6 /48, because one customer commonly has no more than a /48. Text that is not an address maps to `unknown`. The zone
 * of a link-local address is dropped, because it only names an interface of this machine.
 */
export function networkOf(address: string | undefined): string {
  const version = isIP(address ?? '')
  if (address === undefined || version === 0) return 'unknown'
  if (version === 4) return address
  const [without_zone = ''] = address.split('%')
  const parsed = ipaddr.process(without_zone)
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 3).join(':') : parsed.toString()
}
