import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { z } from 'zod'
import { ConfigError, describedSetting, type Setting, type Variables } from '#lib/base/config/config.ts'
import { listSetting } from '#lib/base/config/settings.ts'
import { clock } from '#lib/base/time.ts'
import { type IpRanges, isIpRange, parseIpAddress } from './address-policy.ts'

const NONE = 'none'

const PROXIES = listSetting('MULTIHUB_TRUSTED_PROXIES', {
  of: 'addresses or address ranges',
  item: z.string().refine(isIpRange),
  fallback: [],
})

/** The proxies whose X-Forwarded-For is believed (A7). */
export const TRUSTED_PROXIES_SETTING: Setting<readonly string[]> = describedSetting(
  'The proxies whose X-Forwarded-For header is believed. In Kubernetes the gateway does not start without it.',
  {
    ...PROXIES,
    expected: `${NONE}, or ${PROXIES.expected}`,
    read: (text) => (text === NONE ? { ok: true, value: [] } : PROXIES.read(text)),
  },
)

/**
 * Throws `ConfigError` in Kubernetes while nobody has decided which proxies are trusted. There is always one in front of a
 * pod, and without its addresses all merchants together have the limits of one network.
 */
export function checkProxiesAreDecided(variables: Variables): void {
  const { variable } = TRUSTED_PROXIES_SETTING
  if (!variables['KUBERNETES_SERVICE_HOST']?.trim() || variables[variable]?.trim()) return
  throw new ConfigError([
    `${variable} is missing: set the addresses of the proxies in front of the gateway, or ${NONE} without one`,
  ])
}

/** For how long `/readyz` warns after a request. */
const WARNED_MS = 600_000

/** Looks for a proxy that is not in the setting. */
export type ProxyWatch = ReturnType<typeof createProxyWatch>

/** Makes the watch of one port. */
export function createProxyWatch(trusted_proxies: IpRanges | undefined) {
  let seen: { readonly address: string; readonly at_ms: number } | undefined
  return {
    /** Looks at one request. */
    observe({ headers, socket: { remoteAddress: address } }: IncomingMessage): void {
      if (headers['x-forwarded-for'] === undefined || address === undefined) return
      if (!trusted_proxies?.contain(address)) seen = { address, at_ms: clock.monotonic_ms() }
    },
    /** The warning for `/readyz`, if such a request came in the last 10 minutes. */
    limitations(): readonly string[] {
      if (seen === undefined || clock.monotonic_ms() - seen.at_ms > WARNED_MS) return []
      return [
        `X-Forwarded-For came from ${seen.address}, which is not in ${TRUSTED_PROXIES_SETTING.variable}: if it is your ` +
          'proxy, all callers behind it have the limits of one network',
      ]
    },
  }
}

/**
 * The address of the caller (A7): the socket's address, or the last hop of `X-Forwarded-For` that is not a trusted proxy.
 * Only hops that trusted proxies appended are believed. `undefined` when that hop is not an IP address, with or without a port.
 */
export function clientAddress(
  { socket, headers }: IncomingMessage,
  trusted: IpRanges | undefined,
): string | undefined {
  return addressBehind(socket.remoteAddress, headers['x-forwarded-for']?.toString(), trusted)
}

/** The same, from the address of the other end and its header `X-Forwarded-For`. */
export function addressBehind(
  peer: string | undefined,
  forwarded = '',
  trusted: IpRanges | undefined,
): string | undefined {
  let address = peer
  const hops = forwarded === '' ? [] : forwarded.split(',').map((hop) => hop.trim())
  while (address !== undefined && trusted?.contain(address)) {
    const hop = hops.pop()
    if (hop === undefined) return address
    address = addressOfHop(hop)
  }
  return address
}

/** An address as some load balancers write it: `203.0.113.7:5123` or `[2001:db8::1]:443`. */
const ADDRESS_WITH_PORT = /^(?:(?<ipv4>[0-9.]+)|\[(?<ipv6>[0-9a-f:.]+)\]):(?<port>[1-9][0-9]{0,4})$/i

/** The address of a hop without its port. `undefined` when it is not an IP address. */
function addressOfHop(hop: string): string | undefined {
  if (parseIpAddress(hop) !== undefined) return hop
  const { ipv4 = '', ipv6 = '', port } = ADDRESS_WITH_PORT.exec(hop)?.groups ?? {}
  if (Number(port) > 65_535) return undefined
  if (isIPv4(ipv4)) return ipv4
  return isIPv6(ipv6) ? ipv6 : undefined
}
