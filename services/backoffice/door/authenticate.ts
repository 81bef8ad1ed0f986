import { now } from '#lib/base/time.ts'
import { bearerTokenOf } from '#lib/rpc/credentials.ts'
import { acceptsToken, hashToken, isActive, type Principal } from '../domain/principal.ts'
import { RIGHTS } from '../domain/rights.ts'
import { createCachedRead } from '../sessions/cached-read.ts'
import { SESSION_PREFIX } from '../sessions/domain/session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { ReadHeader, Site } from '../sessions/site.ts'
import type { Principals } from '../store/principals.ts'
import { createWrongTokens } from './wrong-tokens.ts'

/** Whose tokens an instance takes: all, or those of principals of merchants only (O1). */
export type Audience = 'all' | 'merchants'

/** What a request shows of its caller. */
export interface CallerHead {
  readonly authorization: string | undefined
  readonly header: ReadHeader
  /** Its IP address, behind trusted proxies too. */
  readonly address: string | undefined
}

/** What a request with a session cookie must prove: that a page of the back office made it, or only that no other site did. */
export type CookieProof = 'page' | 'site'

/**
 * Finds the principal of a request by its token or session; `undefined` where that is unknown or does not count. Throws
 * `Unavailable`, PERMISSION_DENIED for a session cookie that another site could have sent, and RESOURCE_EXHAUSTED for a network
 * with too many wrong tokens.
 */
export type AuthenticatePrincipal = (head: CallerHead, proof?: CookieProof) => Promise<Principal | undefined>

/** The settings of the authentication. */
export interface AuthenticationSettings {
  /** The SHA-256 of the first token (O3). */
  readonly first_token: string | undefined
  readonly audience: Audience
  /** The OpenID provider; `undefined` without one. */
  readonly oidc_issuer: string | undefined
  /** Whether a group of the OpenID provider has the right `admin`; the first token never counts then (O15). */
  readonly has_admin_group: boolean
}

/** What the authentication needs. */
interface AuthenticationDeps {
  readonly principals: Pick<Principals, 'get' | 'findByToken' | 'hasAdmin'>
  readonly sessions: Pick<Sessions, 'find'>
  readonly site: Site
}

/** The principal of the first token, which is not stored. It has every right, so that it can give each to others. */
export const FIRST_PRINCIPAL: Principal = {
  principal_id: 'first-token',
  name: 'first token',
  kind: 'program',
  rights: RIGHTS,
  status: 'active',
  tokens: [],
  created_at: new Date(0),
  updated_at: new Date(0),
}

/**
 * Creates the authentication by bearer token or session (O21). The store is asked at most once per second and token, session or
 * principal. A request with an Authorization header is judged by that header alone. The first token counts only while no stored
 * principal is an active administrator.
 */
export function createPrincipalAuthenticator(
  { principals, sessions, site }: AuthenticationDeps,
  { first_token, audience, oidc_issuer, has_admin_group }: AuthenticationSettings,
): AuthenticatePrincipal {
  const by_token = createCachedRead((sha256) => principals.findByToken(sha256))
  const by_id = createCachedRead((principal_id) => principals.get(principal_id))
  const admin = createCachedRead(() => principals.hasAdmin(now(), oidc_issuer))
  const wrong_tokens = createWrongTokens()

  async function principalOfToken(sha256: string): Promise<Principal | undefined> {
    const stored = await by_token.get(sha256)
    if (stored !== undefined) return acceptsToken(stored, sha256, now()) ? stored : undefined
    if (sha256 !== first_token || has_admin_group) return undefined
    return (await admin.get('')) ? undefined : FIRST_PRINCIPAL
  }

  async function principalOfSession(secret: string): Promise<Principal | undefined> {
    const session = await sessions.find(secret)
    if (session === undefined) return undefined
    if (session.token_sha256 !== undefined) return principalOfToken(session.token_sha256)
    const principal = await by_id.get(session.principal_id)
    return principal !== undefined && isActive(principal, now()) ? principal : undefined
  }

  function secretOf({ authorization, header }: CallerHead, proof: CookieProof): string | undefined {
    if (authorization !== undefined) return bearerTokenOf(authorization)
    const secret = header('cookie') === undefined ? undefined : site.cookie('session', header)
    if (!secret?.startsWith(SESSION_PREFIX)) return undefined
    if (proof === 'page') site.demandOwnPage(header)
    else site.demandOwnSite(header)
    return secret
  }

  return async (head, proof = 'page') => {
    const secret = secretOf(head, proof)
    if (secret === undefined) return undefined
    const sha256 = hashToken(secret)
    const principal = await wrong_tokens.ask(sha256, head.address, () =>
      secret.startsWith(SESSION_PREFIX) ? principalOfSession(secret) : principalOfToken(sha256),
    )
    return audience === 'merchants' && principal?.merchant_id === undefined ? undefined : principal
  }
}
