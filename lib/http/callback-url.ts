import { isIPv4 } from 'node:net'
import type { Environment } from '#lib/contract/environment.ts'
import type { AddressPolicy } from './address-policy.ts'

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
 * the many spellings of 127.0.0.1. `localhost` is judged as 127.0.0.1, to which it always resolves. The HTTP client
 * resolves names and checks their addresses at each connection.
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
  const is_localhost = host === 'localhost'
  if (is_ipv6 || isIPv4(host) || is_localhost) {
    const address = is_localhost ? '127.0.0.1' : url.hostname.replace(/^\[|\]$/g, '')
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
