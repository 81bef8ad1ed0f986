import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Who is behind an address, for whatever is shared out to strangers: one host of IPv4, but a whole /48 of IPv6, for that
 * is the most that one customer commonly has. What is no address shares one name; the zone of a link-local one is only
 * our own name for the line that it came by.
 */
export function networkOf(text: string | undefined): string {
  const version = isIP(text ?? '')
  if (text === undefined || version === 0) return 'unknown'
  if (version === 4) return text
  const [bare = ''] = text.split('%')
  const address = ipaddr.process(bare)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 3).join(':') : address.toString()
}
