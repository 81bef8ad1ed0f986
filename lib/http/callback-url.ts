import { Resolver } from 'node:dns/promises'
import { isIP, isIPv4 } from 'node:net'
import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { clock, withTimeout } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { AddressPolicy } from './address-policy.ts'
import { simulatedNetwork } from './network.ts'

/**
 * Whether a callback URL that `checkCallbackUrl` accepted has a host without refused addresses (N9). A host that has no
 * address, or whose name servers do not answer in time, is accepted: each delivery checks its connection again. Never
 * rejects.
 */
export type CallbackHostCheck = (url: string, environment: Environment) => Promise<boolean>

/** Returns addresses of a host, of one family. Rejects when there are none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/** How long a request waits for the addresses of a name (N9). */
const TIMEOUT_MS = 300
/** How long a response is used again. Merchants send the same host with every request. */
const REMEMBERED_MS = 5_000
const HOSTS_MAX = 10_000

interface Resolution {
  /** The addresses so far: a lookup that is late adds its own for later requests. */
  readonly addresses: string[]
  /** Resolves when all lookups have ended, or when the time is over. */
  readonly waited: Promise<unknown>
  readonly expires_ms: number
}

/** Makes the check of a process. `policyFor` says which addresses callbacks of an environment may go to. */
export function createCallbackHostCheck(
  policyFor: (environment: Environment) => AddressPolicy,
  lookups: readonly Lookup[] = nameServerLookups(),
): CallbackHostCheck {
  const resolutions = new LRUCache<string, Resolution>(entriesUpTo(HOSTS_MAX))
  const resolve = (hostname: string): Resolution => {
    const known = resolutions.get(hostname)
    if (known !== undefined && known.expires_ms > clock.monotonic_ms()) return known
    const addresses: string[] = []
    const add = (more: readonly string[]): void => void addresses.push(...more)
    const waited = withTimeout(
      Promise.allSettled(lookups.map((lookUp) => lookUp(hostname).then(add))),
      TIMEOUT_MS,
    )
    const resolution = { addresses, waited, expires_ms: clock.monotonic_ms() + REMEMBERED_MS }
    resolutions.set(hostname, resolution)
    return resolution
  }
  return async (url, environment) => {
    const hostname = URL.parse(url)?.hostname ?? ''
    // `checkCallbackUrl` has judged an address that is written in the URL itself.
    if (hostname.startsWith('[') || isIP(hostname) !== 0) return true
    const { addresses, waited } = resolve(hostname)
    await waited
    return addresses.every(policyFor(environment))
  }
}

/** Asks the name servers of the machine directly, as deliveries do, and only once, because the time is short. */
function nameServerLookups(): readonly Lookup[] {
  const network = simulatedNetwork()
  if (network !== undefined) return [network.lookup]
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 })
  return [(hostname) => resolver.resolve4(hostname), (hostname) => resolver.resolve6(hostname)]
}

/** The rules for a callback URL that depend on its environment. */
export interface CallbackUrlRules {
  /** Production permits https only. */
  readonly environment: Environment
  /** Which IP addresses may be called. */
  readonly allow: AddressPolicy
}

/** The parsed URL, or a phrase that says what is expected instead. */
export type CallbackUrlCheck =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly reason: string }

/** The longest callback URL in characters. */
export const CALLBACK_URL_LENGTH_MAX = 2048
const HOST_MAX = 253

/** Ports of Docker and of databases: a forged request could do harm there. Below 1024 only 80 and 443 are permitted. */
export const CALLBACK_PORTS_REFUSED: ReadonlySet<number> = new Set([
  2375, 3306, 5432, 6379, 9200, 11211, 27017,
])

/** An absolute URL in visible ASCII, with its host as written. User info and escapes in the host do not match. */
const ABSOLUTE_URL = /^https?:\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]*)?(?:[/?][\x21-\x7e]*)?$/i

/** A backslash, which URL parsers read differently; a fragment; an escaped control character. */
const AMBIGUOUS = /[\\#]|%(?:[01][0-9a-f]|7f)/i

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/

/** Suffixes of names that resolve inside a private network only, or nowhere. */
export const PRIVATE_SUFFIXES: readonly string[] = [
  ...['localhost', 'localdomain', 'local', 'internal', 'intranet', 'private', 'corp', 'home', 'lan', 'svc'],
  ...['home.arpa', 'onion', 'test', 'invalid'],
]

/**
 * Checks a callback URL against server-side request forgery, without asking DNS (N9). It refuses other schemes, user
 * info, refused ports, private names and addresses, and every host that is not written in its canonical form, such as
 * the many spellings of 127.0.0.1. The HTTP client resolves names and checks their addresses at each connection.
 */
export function checkCallbackUrl(text: string, { environment, allow }: CallbackUrlRules): CallbackUrlCheck {
  if (text.length > CALLBACK_URL_LENGTH_MAX) return refused(`at most ${CALLBACK_URL_LENGTH_MAX} characters`)
  const host = ABSOLUTE_URL.exec(text)?.[1]?.toLowerCase()
  const url = host === undefined ? null : URL.parse(text)
  if (host === undefined || url === null || AMBIGUOUS.test(text)) {
    return refused('an absolute http or https URL without user info, fragment and control characters')
  }
  if (environment === 'production' && url.protocol !== 'https:') return refused('an https URL in production')
  if (!isPermittedPort(url)) return refused('port 80, 443, or one from 1024 that is not a database port')

  const is_ipv6 = host.startsWith('[')
  if (!is_ipv6 && host !== url.hostname) return refused('a host in its usual spelling')
  if (is_ipv6 || isIPv4(host)) {
    const address = url.hostname.replace(/^\[|\]$/g, '')
    return allow(address) ? { ok: true, url } : refused('a public address')
  }
  return isPublicName(host) ? { ok: true, url } : refused('a public host name')
}

function refused(reason: string): CallbackUrlCheck {
  return { ok: false, reason }
}

function isPermittedPort({ port }: URL): boolean {
  if (port === '') return true
  const number = Number(port)
  return number === 80 || number === 443 || (number >= 1024 && !CALLBACK_PORTS_REFUSED.has(number))
}

/** Whether a name has at least two labels that are valid in DNS, and no private suffix. */
function isPublicName(host: string): boolean {
  const labels = host.split('.')
  const is_valid = host.length <= HOST_MAX && labels.length > 1 && labels.every((label) => LABEL.test(label))
  return is_valid && !PRIVATE_SUFFIXES.some((suffix) => `.${host}`.endsWith(`.${suffix}`))
}
