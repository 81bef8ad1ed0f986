import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Who is behind an address, for whatever is shared out to strangers: one host of IPv4, but all of the 2^64 addresses
 * that one customer of IPv6 has. What is no address shares one name.
 */
export function networkOf(text: string | undefined): string {
  const version = isIP(text ?? '')
  if (text === undefined || version === 0) return 'unknown'
  if (version === 4) return text
  const address = ipaddr.process(text)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}
