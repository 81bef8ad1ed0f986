import type { Environment } from '#lib/contract/environment.ts'
import { ROUTE_CURRENCIES, type RouteCurrency } from '#lib/contract/money.ts'
import { METHODS, type MethodName, RESEND_BUCKET, SCOPES, type Scope } from '#lib/contract/vocabulary.ts'
import { isIpRange } from '#lib/platform/http/ip-ranges.ts'
import { checkCount, checkInteger, checkQuantity, checkWords, invalid } from './check.ts'

/** The route of the public API that a credential may use (A2). */
export type ApiVersion = 'v1' | 'v2'

/** Whether a credential may be used: `disabled` answers 3004, `blocked` 3005. */
export type CredentialStatus = 'active' | 'disabled' | 'blocked'

/** A secret as it lies in the store; without `expires_at` it verifies until it is replaced. */
export interface StoredSecret {
  readonly sealed: string
  readonly expires_at?: Date
}

/** What can be limited and switched off by itself: every public method, and the resend route. */
export type Callable = MethodName | typeof RESEND_BUCKET

/** A bucket's own limit. A list and not an object, because stores take no dots in the names of fields. */
export interface RateLimit {
  readonly method: Callable
  readonly per_minute: number
}

/** What a credential may be used for, all of which the operator can change. Empty restrictions restrict nothing. */
export interface CredentialPolicy {
  readonly scopes: readonly Scope[]
  readonly service_ids: readonly number[]
  readonly currencies: readonly RouteCurrency[]
  readonly ip_allowlist: readonly string[]
  /** Requests in a UTC day; 0 means no limit. */
  readonly daily_limit: bigint
  readonly rate_limits: readonly RateLimit[]
  readonly disabled_methods: readonly Callable[]
}

/** What a merchant's program proves itself with, as it is stored. */
export interface Credential extends CredentialPolicy {
  readonly application_id: number
  readonly merchant_id: string
  readonly api_version: ApiVersion
  readonly environment: Environment
  readonly status: CredentialStatus
  /** The newest first, which alone has no end; the older ones verify until theirs. */
  readonly secrets: readonly StoredSecret[]
  readonly created_at: Date
  readonly updated_at: Date
}

/** A policy as a request gives it, before any of it is known to be right. */
export interface GivenPolicy {
  readonly scopes: readonly string[]
  readonly service_ids: readonly string[]
  readonly currencies: readonly string[]
  readonly ip_allowlist: readonly string[]
  readonly daily_limit: bigint
  readonly rate_limits: Readonly<Record<string, number>>
  readonly disabled_methods: readonly string[]
}

const ALLOWLIST_MAX = 256
const RATE_MAX = 1_000_000
const CALLABLES: readonly Callable[] = [...METHODS, RESEND_BUCKET]

/** What the secrets of a credential are sealed for: one that is moved to another credential does not open. */
export function sealedFor(application_id: number): string {
  return `credential:${application_id}`
}

/** Everything of a policy that can be judged without reading a route; what was not given stays out. */
export function checkPolicy(given: Partial<GivenPolicy>): Partial<Omit<CredentialPolicy, 'service_ids'>> {
  return {
    ...(given.scopes && { scopes: checkWords(given.scopes, 'scopes', SCOPES) }),
    ...(given.currencies && { currencies: checkWords(given.currencies, 'currencies', ROUTE_CURRENCIES) }),
    ...(given.ip_allowlist && { ip_allowlist: checkAllowlist(given.ip_allowlist) }),
    ...(given.daily_limit !== undefined && { daily_limit: checkQuantity(given.daily_limit, 'daily_limit') }),
    ...(given.rate_limits && { rate_limits: checkRateLimits(given.rate_limits) }),
    ...(given.disabled_methods && {
      disabled_methods: checkWords(given.disabled_methods, 'disabled_methods', CALLABLES),
    }),
  }
}

/** Addresses and CIDR ranges that the gateway can read: with a single other one the credential would be 3007. */
function checkAllowlist(ranges: readonly string[]): string[] {
  checkCount(ranges, 'ip_allowlist', ALLOWLIST_MAX)
  const wrong = ranges.findIndex((range) => !isIpRange(range))
  if (wrong >= 0)
    throw invalid(`ip_allowlist.${wrong}`, 'an IPv4 or IPv6 address, or a range such as 203.0.113.0/24')
  return [...new Set(ranges)]
}

function checkRateLimits(limits: Readonly<Record<string, number>>): RateLimit[] {
  return Object.entries(limits).map(([name, per_minute]) => {
    const path = `rate_limits.${name}`
    const method = CALLABLES.find((known) => known === name)
    if (method === undefined) throw invalid(path, `the name of a public method, or ${RESEND_BUCKET}`)
    return { method, per_minute: checkInteger(per_minute, path, 1, RATE_MAX) }
  })
}
