import type { Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { METHODS, type MethodName, RESEND_METHOD, SCOPES, SUPPORT_RESOURCES } from '#lib/contract/methods.ts'
import { ROUTE_CURRENCIES } from '#lib/contract/money.ts'
import { isIpRange } from '#lib/http/address-policy.ts'
import type { DoneOperation } from '#lib/patterns/idempotency/done-operations.ts'
import type { Route } from './route.ts'
import {
  checkCount,
  checkInteger,
  checkQuantity,
  parseNumericId,
  type RegistryDocument,
  type StoredSettings,
  wordsOf,
} from './settings.ts'

/** The version of the public API that a credential may use (A2). */
type ApiVersion = 'v1' | 'v2'

/** Whether a credential may be used: the gateway refuses a `disabled` one with 3004 and a `blocked` one with 3005. */
type CredentialStatus = 'active' | 'disabled' | 'blocked'

/** A secret as it is stored: encrypted. Without `expires_at` it is valid until it is replaced. */
export interface StoredSecret {
  readonly sealed: string
  readonly expires_at?: Date
  /** Set on the secret of the creation, which a repetition returns for a while (O12). */
  readonly is_first?: boolean
}

/** What has a rate limit of its own and can be disabled: every public method, and the resend path. */
type LimitedMethod = MethodName | typeof RESEND_METHOD

/**
 * A rate limit that replaces the default of one method. Stored in a list, because the store refuses dots in field
 * names, and method names contain dots.
 */
interface RateLimit {
  readonly method: LimitedMethod
  readonly per_minute: number
}

/** What a merchant's program authenticates with, as it is stored. */
export interface Credential
  extends StoredSettings<typeof CREDENTIAL_SETTINGS>,
    MerchantScope,
    RegistryDocument {
  readonly application_id: number
  readonly api_version: ApiVersion
  /** The newest first. Only the newest has no `expires_at`. */
  readonly secrets: readonly StoredSecret[]
  /** When the newest secret was issued. */
  readonly secret_created_at: Date
  /** The last rotations, the newest last: a repetition rotates nothing again (O12). */
  readonly rotations?: readonly DoneOperation[]
}

const ALLOWLIST_MAX = 256
const SERVICE_IDS_MAX = 500
const RATE_MAX = 1_000_000
const LIMITED_METHODS: readonly LimitedMethod[] = [...METHODS, RESEND_METHOD]

/** What the checks of a credential depend on: its environment, and all routes of its merchant. */
export interface CredentialContext {
  readonly environment: Environment
  readonly routes: readonly Route[]
}

/**
 * The permissions and limits of a credential. Empty `scopes` and `support_resources` grant nothing; any other empty list
 * restricts nothing.
 */
export const CREDENTIAL_SETTINGS = {
  status: { fallback: 'active' as CredentialStatus, check: (status: CredentialStatus) => status },
  scopes: { check: wordsOf(SCOPES) },
  service_ids: { check: checkServiceIds },
  currencies: { check: wordsOf(ROUTE_CURRENCIES) },
  ip_allowlist: { check: checkAllowlist },
  /** Requests per UTC day; 0 means no limit. */
  daily_limit: { check: checkQuantity },
  rate_limits: { check: checkRateLimits },
  disabled_methods: { check: wordsOf(LIMITED_METHODS) },
  /** The resources whose support methods are switched on (A10). */
  support_resources: { check: wordsOf(SUPPORT_RESOURCES) },
}

/**
 * Accepts the routes that a credential is restricted to and drops repetitions. Refuses a route of another merchant or
 * environment: it would permit nothing, which the operator does not expect.
 */
function checkServiceIds(
  service_ids: readonly string[],
  path: string,
  { routes, environment }: CredentialContext,
): number[] {
  checkCount(service_ids, path, SERVICE_IDS_MAX)
  const routes_by_id = new Map(routes.map((route) => [route.service_id, route]))
  const checked = service_ids.map((service_id, place) => {
    const route = routes_by_id.get(parseNumericId(service_id) ?? 0)
    if (!route) throw fieldError(1004, `${path}.${place}`, 'nothing has this id')
    if (route.environment !== environment)
      throw fieldError(9000, `${path}.${place}`, `a route of the ${environment} environment`)
    return route.service_id
  })
  return [...new Set(checked)]
}

/** Accepts addresses and CIDR ranges. With one malformed entry the gateway would refuse every request with 3007. */
function checkAllowlist(ranges: readonly string[], path: string): string[] {
  checkCount(ranges, path, ALLOWLIST_MAX)
  const wrong = ranges.findIndex((range) => !isIpRange(range))
  const form = 'an IPv4 or IPv6 address, or a range such as 203.0.113.0/24'
  if (wrong >= 0) throw fieldError(9000, `${path}.${wrong}`, form)
  return [...new Set(ranges)]
}

function checkRateLimits(limits: Readonly<Record<string, number>>, path: string): RateLimit[] {
  return Object.entries(limits).map(([name, per_minute]) => {
    const method = LIMITED_METHODS.find((known) => known === name)
    if (method === undefined)
      throw fieldError(9000, `${path}.${name}`, `the name of a public method, or ${RESEND_METHOD}`)
    return { method, per_minute: checkInteger(per_minute, `${path}.${name}`, 1, RATE_MAX) }
  })
}
