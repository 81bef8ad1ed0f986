import { timestampMs } from '@bufbuild/protobuf/wkt'
import { ApiVersion, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { MerchantStatus } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import type { GetCredentialResponse, SealedSecret } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { ENVIRONMENTS, type Environment } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { MethodName } from '#lib/contract/methods.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import { type IpRanges, parseIpRanges } from '#lib/http/address-policy.ts'
import type { Log } from '#lib/telemetry/log.ts'

/** The authenticated caller of a method: a credential whose signature was verified and that may be used. */
export interface Caller
  extends Omit<ParsedSettings, 'version' | 'status' | 'allowlist' | 'environment_granted'> {
  readonly application_id: string
  /** The secret that signed the request; during a rotation, each credential has two. */
  readonly secret: Secret
}

/** A secret that verifies signatures until `expires_at_ms`, in wall-clock time; without one, permanently (A6). */
interface UnsealedSecret {
  readonly secret: Secret
  readonly expires_at_ms: number | undefined
}

/** A version of the public API. Each credential may use one (A2). */
export type PublicApiVersion = 'v1' | 'v2'

/** The settings of a credential, parsed. If any of them is invalid, the credential is refused with 3007. */
interface ParsedSettings {
  readonly merchant_id: string
  readonly environment: Environment
  readonly version: PublicApiVersion
  readonly status: 'active' | 'disabled' | 'blocked'
  /** The addresses that may use the credential; `undefined` means all. */
  readonly allowlist: IpRanges | undefined
  /** Whether the merchant may use the credential's environment. */
  readonly environment_granted: boolean
  /** Support methods and the resend path require scopes (spec: v1 request headers, 6); other methods do not (A8). */
  readonly scopes: ReadonlySet<string>
  /** The payment routes that the credential may use; empty means all payment routes of the merchant. */
  readonly service_ids: readonly string[]
  /** The currencies that the credential may use; empty means all. */
  readonly currencies: readonly string[]
  /** Requests per UTC day; `0n` means no limit. */
  readonly daily_limit: bigint
  /** Calls per minute by method name, where they differ from the default quota (E10). */
  readonly rate_limits: ReadonlyMap<string, number>
  readonly disabled_methods: ReadonlySet<string>
  /** The resources whose support methods are switched on (A10). */
  readonly support_resources: ReadonlySet<string>
}

/** A credential with its secrets decrypted. It is made once per read of the registry, not per request. */
export interface UnsealedCredential {
  readonly application_id: string
  /** Newest first. A secret that cannot be decrypted is left out, so that no signature verifies with it. */
  readonly secrets: readonly UnsealedSecret[]
  /** `undefined` when the settings are invalid. */
  readonly settings: ParsedSettings | undefined
}

/**
 * Makes the function that the registry cache uses to decrypt credentials. It never throws: it logs invalid settings and
 * secrets that cannot be decrypted, and leaves them out of the result.
 */
export function createCredentialUnsealer(keyring: Keyring, log: Log) {
  return (response: GetCredentialResponse): UnsealedCredential => {
    const application_id = response.credential?.applicationId ?? ''
    const settings = readSettings(response)
    if (settings === undefined)
      log.error({ application_id }, 'the settings of a credential are invalid; correct them in the registry')
    return {
      application_id,
      secrets: unsealSecrets(response.secrets, application_id, keyring, log),
      settings,
    }
  }
}

function unsealSecrets(
  sealed: readonly SealedSecret[],
  application_id: string,
  keyring: Keyring,
  log: Log,
): readonly UnsealedSecret[] {
  const secrets: UnsealedSecret[] = []
  for (const { sealed: text, expireTime } of sealed) {
    try {
      const secret = keyring.unseal(text, ownerOfCredentialSecret(application_id))
      secrets.push({ secret, expires_at_ms: expireTime && timestampMs(expireTime) })
    } catch (error) {
      log.error(
        { application_id, error },
        'a secret of a credential cannot be decrypted; provide the key that encrypted it',
      )
    }
  }
  return secrets
}

const VERSIONS = createEnumMap<PublicApiVersion, ApiVersion>({ v1: ApiVersion.V1, v2: ApiVersion.V2 })

const STATUSES = createEnumMap<ParsedSettings['status'], CredentialStatus>({
  active: CredentialStatus.ACTIVE,
  disabled: CredentialStatus.DISABLED,
  blocked: CredentialStatus.BLOCKED,
})

/** What a suspended merchant may not do (A11). */
const SUSPENDED_METHODS: readonly MethodName[] = ['payment.in', 'payment.out', 'refund.request']

function readSettings({
  credential,
  merchantEnvironments,
  merchantStatus,
}: GetCredentialResponse): ParsedSettings | undefined {
  if (credential === undefined) return undefined
  const { merchantId: merchant_id, ipAllowlist, dailyLimit: daily_limit } = credential
  const environment = ENVIRONMENTS.fromProto(credential.environment)
  const version = VERSIONS.fromProto(credential.apiVersion)
  const is_closed = merchantStatus === MerchantStatus.CLOSED
  const status = is_closed ? 'disabled' : STATUSES.fromProto(credential.status)
  const is_suspended = merchantStatus === MerchantStatus.SUSPENDED
  const addresses = parseIpRanges(ipAllowlist)
  if (!merchant_id || !environment || !version || !status || !addresses || daily_limit < 0n) return undefined
  return {
    merchant_id,
    environment,
    version,
    status,
    allowlist: ipAllowlist.length === 0 ? undefined : addresses,
    environment_granted: merchantEnvironments.includes(credential.environment),
    scopes: new Set(credential.scopes),
    service_ids: credential.serviceIds,
    currencies: credential.currencies,
    daily_limit,
    rate_limits: new Map(Object.entries(credential.rateLimits)),
    disabled_methods: new Set([...credential.disabledMethods, ...(is_suspended ? SUSPENDED_METHODS : [])]),
    support_resources: new Set(credential.supportResources),
  }
}

/**
 * Checks whether a credential with a verified signature may be used, in the order of A1: settings, status, allowlist, API
 * version and environment. Throws 3007 for invalid settings, 3004 for a disabled and 3005 for a blocked credential, 3006
 * for the caller's address, and 3008 for the API version or the environment.
 */
export function checkCredential(
  { settings }: UnsealedCredential,
  versions: readonly PublicApiVersion[],
  addressOf: () => string | undefined,
): ParsedSettings {
  if (settings === undefined) throw new PublicError(3007)
  if (settings.status === 'disabled') throw new PublicError(3004)
  if (settings.status === 'blocked') throw new PublicError(3005)
  if (settings.allowlist !== undefined) {
    const address = addressOf()
    if (address === undefined || !settings.allowlist.contain(address)) throw new PublicError(3006)
  }
  if (!versions.includes(settings.version) || !settings.environment_granted) throw new PublicError(3008)
  return settings
}
