import { parseIpRanges } from '#lib/http/address-policy.ts'
import { addressOfPeer } from '#lib/http/connection-limit.ts'
import { addressBehind, createProxyWatch } from '#lib/http/trusted-proxies.ts'
import type { ReadHeader } from '../sessions/site.ts'

/** How the addresses of callers are known. */
export type CallerAddresses = ReturnType<typeof createCallerAddresses>

/** Reads the addresses of callers: the other end of a connection, or whom it names if it is one of these proxies (O22). */
export function createCallerAddresses(proxies: readonly string[]) {
  const trusted_proxies = parseIpRanges(proxies)
  return {
    trusted_proxies,
    watch: createProxyWatch(trusted_proxies),
    /** The address of the caller at the other end of a connection, see `peerOf`. */
    addressOf: (peer: string, header: ReadHeader): string | undefined =>
      addressBehind(addressOfPeer(peer), header('x-forwarded-for'), trusted_proxies),
  }
}
