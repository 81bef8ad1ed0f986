import { LRUCache } from 'lru-cache'
import { clock, now } from '#lib/base/time.ts'
import { bearerTokenOf } from '#lib/rpc/credentials.ts'
import { acceptsToken, hashToken, type Principal } from '../domain/principal.ts'
import { RIGHTS } from '../domain/rights.ts'
import type { Principals } from '../store/principals.ts'

/** How long an answer of the store may be used. With the read itself, a change counts within 2 s (O3). */
const CACHE_MS = 1_000
const CACHED_MAX = 10_000

/** Whose tokens an instance takes: all, or those of principals of merchants only (O1). */
export type Audience = 'all' | 'merchants'

/** Finds the principal of a call; `undefined` where its token is unknown or does not count. Throws `Unavailable`. */
export type AuthenticatePrincipal = (authorization: string | undefined) => Promise<Principal | undefined>

/** The settings of the authentication. */
interface AuthenticationSettings {
  /** The SHA-256 of the first token (O3). */
  readonly first_token: string | undefined
  readonly audience: Audience
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

interface Cached<T> {
  readonly read_ms: number
  readonly value: Promise<T>
}

/**
 * Creates the authentication by bearer token. The store is asked at most once per second and token. The first token counts only
 * while no stored principal is an active administrator.
 */
export function createPrincipalAuthenticator(
  principals: Pick<Principals, 'findByToken' | 'hasAdmin'>,
  { first_token, audience }: AuthenticationSettings,
): AuthenticatePrincipal {
  const by_hash = new LRUCache<string, Cached<Principal | undefined>>({ max: CACHED_MAX })
  const admin = new Map<'has_admin', Cached<boolean>>()

  async function principalOf(sha256: string): Promise<Principal | undefined> {
    const stored = await readThrough(by_hash, sha256, () => principals.findByToken(sha256))
    if (stored !== undefined) return acceptsToken(stored, sha256, now()) ? stored : undefined
    if (sha256 !== first_token) return undefined
    const has_admin = await readThrough(admin, 'has_admin', () => principals.hasAdmin(now()))
    return has_admin ? undefined : FIRST_PRINCIPAL
  }

  return async (authorization) => {
    const token = bearerTokenOf(authorization)
    if (token === undefined) return undefined
    const principal = await principalOf(hashToken(token))
    return audience === 'merchants' && principal?.merchant_id === undefined ? undefined : principal
  }
}

/** The value of a cache, read again once it is too old. Calls at the same time share a read; a failed one is not kept. */
function readThrough<K extends string, T>(
  cache: {
    get(key: K): Cached<T> | undefined
    set(key: K, value: Cached<T>): unknown
    delete(key: K): unknown
  },
  key: K,
  read: () => Promise<T>,
): Promise<T> {
  const read_ms = clock.monotonic_ms()
  const cached = cache.get(key)
  if (cached !== undefined && read_ms - cached.read_ms < CACHE_MS) return cached.value
  const fresh: Cached<T> = { read_ms, value: read() }
  cache.set(key, fresh)
  fresh.value.catch(() => {
    if (cache.get(key) === fresh) cache.delete(key)
  })
  return fresh.value
}
