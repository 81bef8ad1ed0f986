import { timestampMs } from '@bufbuild/protobuf/wkt'
import { ApiVersion, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import type { GetCredentialResponse, SealedSecret } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { type Environment, environmentFromProto } from '#lib/contract/environment.ts'
import type { Keyring } from '#lib/platform/crypto/seal.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import { type IpRanges, parseIpRanges } from '#lib/platform/http/ip-ranges.ts'
import type { Log } from '#lib/platform/telemetry/log.ts'

/** A secret that verifies until an instant of the wall clock; for ever when there is none (A6). */
export interface UnsealedSecret {
  readonly secret: Secret
  readonly expires_at_ms: number | undefined
}

/** The one version of the public API that a credential may use (A2). */
export type PublicApiVersion = 'v1' | 'v2'

/** Everything about a credential that has to make sense before it may be used; otherwise it is 3007. */
export interface CredentialSettings {
  readonly merchant_id: string
  readonly environment: Environment
  readonly version: PublicApiVersion
  readonly status: 'active' | 'disabled' | 'blocked'
  /** Where it may be used from; `undefined` means anywhere. */
  readonly allowlist: IpRanges | undefined
  /** Whether its environment is one of the merchant's. */
  readonly environment_granted: boolean
  /** What support methods and the resend route ask for (spec: v1 headers, 6); the others need none (A8). */
  readonly scopes: ReadonlySet<string>
  /** Empty means all of the merchant's. */
  readonly service_ids: readonly string[]
  /** Empty means all. */
  readonly currencies: readonly string[]
  /** Requests in a UTC day; `0n` means no limit. */
  readonly daily_limit: bigint
  /** What its buckets hold a minute where that is not the default, by the name of the method (E10). */
  readonly rate_limits: ReadonlyMap<string, number>
  readonly disabled_methods: ReadonlySet<string>
}

/** A credential as requests need it, made once a read of the registry. */
export interface UnsealedCredential {
  readonly application_id: string
  /** The newest first. One that cannot be opened is missing, so that nothing verifies with it. */
  readonly secrets: readonly UnsealedSecret[]
  /** `undefined` when they are broken. */
  readonly settings: CredentialSettings | undefined
}

/** Makes the opener of credentials that the directory is given. It never throws: what is broken is a finding. */
export function createCredentialUnsealer(keyring: Keyring, log: Log) {
  return (answer: GetCredentialResponse): UnsealedCredential => {
    const application_id = answer.credential?.applicationId ?? ''
    const settings = readSettings(answer)
    if (settings === undefined) log.error({ application_id }, 'the settings of a credential are broken')
    return { application_id, secrets: unsealSecrets(answer.secrets, application_id, keyring, log), settings }
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
      const secret = keyring.open(text, `credential:${application_id}`)
      secrets.push({ secret, expires_at_ms: expireTime && timestampMs(expireTime) })
    } catch (error) {
      log.error({ application_id, error }, 'a secret of a credential could not be opened')
    }
  }
  return secrets
}

const VERSIONS: ReadonlyMap<ApiVersion, PublicApiVersion> = new Map([
  [ApiVersion.V1, 'v1'],
  [ApiVersion.V2, 'v2'],
])

const STATUSES: ReadonlyMap<CredentialStatus, CredentialSettings['status']> = new Map([
  [CredentialStatus.ACTIVE, 'active'],
  [CredentialStatus.DISABLED, 'disabled'],
  [CredentialStatus.BLOCKED, 'blocked'],
])

function readSettings({
  credential,
  merchantEnvironments,
}: GetCredentialResponse): CredentialSettings | undefined {
  if (credential === undefined) return undefined
  const { merchantId: merchant_id, ipAllowlist, dailyLimit: daily_limit } = credential
  const environment = environmentFromProto(credential.environment)
  const version = VERSIONS.get(credential.apiVersion)
  const status = STATUSES.get(credential.status)
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
    disabled_methods: new Set(credential.disabledMethods),
  }
}
