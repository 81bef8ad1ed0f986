import { isIP } from 'node:net'
import { Code } from '@connectrpc/connect'
import { RpcStatusError } from '#lib/rpc/errors.ts'

/** The header that a page of the back office sends with each call. Another site can send it only where a server permits that. */
export const CSRF_HEADER = 'x-multihub-csrf'

/** Reads one header of a request, by its lower-case name. */
export type ReadHeader = (name: string) => string | undefined

/** The back office as browsers know it: its address, and the cookies there (O21). */
export type Site = ReturnType<typeof createSite>

/** Which cookie: of the session, or of a sign-in that is under way. */
export type CookieKind = 'session' | 'sign-in'

interface SiteOptions {
  /** The configured address; without one, browsers reach the back office at an IP address or at `localhost`. */
  readonly url: string | undefined
  /** Whether this process itself speaks TLS. */
  readonly has_tls: boolean
}

/** Creates the checks and the cookies of the back office for browsers. */
export function createSite({ url, has_tls }: SiteOptions) {
  const configured = url === undefined ? undefined : new URL(url)
  const is_secure = configured === undefined ? has_tls : configured.protocol === 'https:'

  /** The own origin. Throws PERMISSION_DENIED for a request to another host, as after DNS rebinding. */
  function ownOrigin(header: ReadHeader): URL {
    const own = URL.parse(`${is_secure ? 'https' : 'http'}://${header('host') ?? ''}`)
    const is_own =
      own !== null && (configured === undefined ? isLocalName(own.hostname) : own.host === configured.host)
    if (!is_own)
      throw new RpcStatusError(
        Code.PermissionDenied,
        configured === undefined
          ? 'browsers reach the back office at an IP address or at localhost, unless MULTIHUB_BACKOFFICE_URL is set'
          : `browsers reach the back office at ${configured.origin} only`,
      )
    return own
  }

  function cookieName(kind: CookieKind, header: ReadHeader): string {
    if (is_secure) return `__Host-multihub-${kind}`
    // Without TLS, all ports of a host share their cookies.
    return `multihub-${kind}-${ownOrigin(header).port || '80'}`
  }

  return {
    /** Throws PERMISSION_DENIED for a request that another site makes, or that is sent to another host. */
    demandOwnSite(header: ReadHeader): void {
      const origin = header('origin')
      const own = ownOrigin(header)
      if (origin === undefined ? !isOfOwnPage(header('sec-fetch-site')) : origin !== own.origin)
        throw new RpcStatusError(Code.PermissionDenied, 'another site made this request')
    },
    /** The same for a request that changes something under a cookie: it proves that a page of the back office made it. */
    demandOwnPage(header: ReadHeader): void {
      this.demandOwnSite(header)
      if (header('origin') === undefined || header(CSRF_HEADER) === undefined)
        throw new RpcStatusError(
          Code.PermissionDenied,
          `a call with a session needs the headers Origin and ${CSRF_HEADER}`,
        )
    },
    /** Throws PERMISSION_DENIED for a request to another host: for pages that people open by a link of another site. */
    demandOwnHost: (header: ReadHeader): void => void ownOrigin(header),
    /** The value of a cookie, or `undefined`. */
    cookie(kind: CookieKind, header: ReadHeader): string | undefined {
      const text = header('cookie')
      if (text === undefined) return undefined
      const name = cookieName(kind, header)
      return text
        .split('; ')
        .find((pair) => pair.startsWith(`${name}=`))
        ?.slice(name.length + 1)
    },
    /** The header that sets a cookie. No script reads it, and another site sends it with navigations by `Lax` at most. */
    setCookie(
      kind: CookieKind,
      header: ReadHeader,
      { value, max_seconds }: { readonly value: string; readonly max_seconds: number },
    ): string {
      const same_site = kind === 'session' ? 'Strict' : 'Lax'
      const attributes = `Path=/; HttpOnly; SameSite=${same_site}; Max-Age=${max_seconds}`
      return `${cookieName(kind, header)}=${value}; ${attributes}${is_secure ? '; Secure' : ''}`
    },
  }
}

/** Names whose address no stranger can choose. */
function isLocalName(hostname: string): boolean {
  return hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
}

/** Programs send no such header, and `none` is what a person typed or kept as a bookmark. */
function isOfOwnPage(fetch_site: string | undefined): boolean {
  return fetch_site === undefined || fetch_site === 'same-origin' || fetch_site === 'none'
}
