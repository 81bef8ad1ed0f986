import { Code } from '@connectrpc/connect'
import { bearerTokenOf } from '#lib/rpc/credentials.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import { hashToken } from '../domain/principal.ts'
import { COOKIE_MAX_SECONDS, SESSION_PREFIX } from '../sessions/domain/session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { ReadHeader, Site } from '../sessions/site.ts'
import type { AuthenticatePrincipal } from './authenticate.ts'
import { type HttpPath, readFields, sendJson } from './http-paths.ts'
import type { CountMerchantAct } from './merchant-acts.ts'
import type { ActOfSignIn } from './operator-call.ts'
import { createRates } from './rates.ts'

interface SessionPathsDeps {
  readonly sessions: Sessions
  readonly site: Site
  readonly authenticate: AuthenticatePrincipal
  readonly actOfSignIn: ActOfSignIn
  readonly countMerchantAct: CountMerchantAct
  /** Whether people can sign in by OpenID Connect. */
  readonly has_oidc: boolean
}

const SESSIONS_PER_MINUTE = 30

/** The paths by which browsers begin and end a session with a token (O21). */
export function createSessionPaths({
  sessions,
  site,
  authenticate,
  actOfSignIn,
  countMerchantAct,
  has_oidc,
}: SessionPathsDeps): readonly HttpPath[] {
  const begun = createRates(SESSIONS_PER_MINUTE)
  return [
    {
      method: 'GET',
      path: '/session',
      async serve({ response, caller }) {
        const principal = await authenticate(caller, 'site')
        sendJson(response, { signed_in: principal !== undefined, oidc: has_oidc })
      },
    },
    {
      method: 'POST',
      path: '/session',
      async serve(exchange) {
        const { response, header, caller } = exchange
        site.demandOwnSite(header)
        const { token = '' } = await readFields(exchange, ['token'])
        // A session that began another one would never end.
        const authorization = token.startsWith(SESSION_PREFIX) ? '' : `Bearer ${token}`
        const principal = await authenticate({ ...caller, authorization })
        if (principal === undefined)
          throw new RpcStatusError(Code.Unauthenticated, 'token is not a token of an active principal')
        const { principal_id, name } = principal
        if (!begun.of(principal_id).use())
          throw new RpcStatusError(
            Code.ResourceExhausted,
            'too many sessions were begun; try again in a minute',
          )
        countMerchantAct(principal)
        const { address } = caller
        const secret = await actOfSignIn({ ...principal, method: 'token', address }, () =>
          sessions.begin({ principal_id, token_sha256: hashToken(token) }),
        )
        sendJson(
          response,
          { principal_id, name },
          { cookies: [sessionCookie(site, header, secret.reveal())] },
        )
      },
    },
    {
      method: 'DELETE',
      path: '/session',
      async serve({ response, header, caller }) {
        const principal = await authenticate(caller)
        const bearer = bearerTokenOf(caller.authorization)
        const secret = caller.authorization === undefined ? site.cookie('session', header) : bearer
        if (principal !== undefined && secret?.startsWith(SESSION_PREFIX)) await sessions.end(secret)
        const cookies = caller.authorization === undefined ? [endedCookie(site, header)] : []
        sendJson(response, {}, { cookies })
      },
    },
  ]
}

/** The header that gives a browser its session. */
export function sessionCookie(site: Site, header: ReadHeader, secret: string): string {
  return site.setCookie('session', header, { value: secret, max_seconds: COOKIE_MAX_SECONDS })
}

function endedCookie(site: Site, header: ReadHeader): string {
  return site.setCookie('session', header, { value: '', max_seconds: 0 })
}
