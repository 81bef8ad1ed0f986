import { isIPv4 } from 'node:net'
import type { Environment } from '#lib/contract/environment.ts'
import type { AddressPolicy } from './address-policy.ts'

/** What decides about a callback URL beside its form. */
export interface CallbackUrlRules {
  /** Production takes https only. */
  readonly environment: Environment
  /** Which IP addresses may be called. */
  readonly allow: AddressPolicy
}

/** The URL, or a few words on what is wrong with it. */
export type CallbackUrlCheck =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly reason: string }

const LENGTH_MAX = 2048
const HOST_MAX = 253

/** Services that must not be talked to in HTTP, whoever's they are. Below 1024 only 80 and 443 are open at all. */
const PORTS_REFUSED: ReadonlySet<number> = new Set([2375, 3306, 5432, 6379, 9200, 11211, 27017])

/** An absolute URL in visible ASCII; its host and port as written. No user info fits in, nor an escape. */
const WRITTEN = /^https?:\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]*)?(?:[/?][\x21-\x7e]*)?$/i

/** What a URL parser reads in its own way (a backslash), a fragment, and control characters behind an escape. */
const ODD = /[\\#]|%(?:[01][0-9a-f]|7f)/i

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/

/** Names that only mean something inside somebody's own network, or nothing anywhere. */
const INNER_SUFFIX =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|home|lan|svc|home\.arpa|onion|test|invalid)$/

/**
 * Judges an address for callbacks by everything that can be seen without asking DNS (N9). The host has to be written
 * the way it is understood: the many spellings that a URL parser folds into 127.0.0.1 are not. Names are resolved, and
 * judged again, by whoever connects.
 */
export function checkCallbackUrl(text: string, { environment, allow }: CallbackUrlRules): CallbackUrlCheck {
  if (text.length > LENGTH_MAX) return refused(`at most ${LENGTH_MAX} characters`)
  const host = WRITTEN.exec(text)?.[1]?.toLowerCase()
  const url = host === undefined ? null : URL.parse(text)
  if (host === undefined || url === null || ODD.test(text)) {
    return refused('an absolute http or https URL without user info, fragment and control characters')
  }
  if (environment === 'production' && url.protocol !== 'https:') return refused('an https URL in production')
  if (!isOpenPort(url)) return refused('port 80, 443, or one from 1024 on that is no database')

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

function isOpenPort({ port }: URL): boolean {
  if (port === '') return true
  const number = Number(port)
  return number === 80 || number === 443 || (number >= 1024 && !PORTS_REFUSED.has(number))
}

/** At least two labels that DNS can hold, under a top level that is everybody's. */
function isPublicName(host: string): boolean {
  const labels = host.split('.')
  const well_formed =
    host.length <= HOST_MAX && labels.length > 1 && labels.every((label) => LABEL.test(label))
  return well_formed && !INNER_SUFFIX.test(host)
}
