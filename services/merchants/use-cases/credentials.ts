import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { newSecret, type Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import {
  type ApiVersion,
  type Credential,
  type CredentialSettingsInput,
  type CredentialStatus,
  checkCredentialSettings,
  checkServiceIds,
  type StoredSecret,
} from '../domain/credential.ts'
import { checkInteger, notFound, parseNumericId } from '../domain/field-checks.ts'
import { checkEnvironmentOf, checkOwnedLimit } from '../domain/merchant.ts'
import type { MerchantsDeps } from './deps.ts'
import { getMerchant } from './merchants.ts'

/** The fields of a new credential. */
interface NewCredential extends CredentialSettingsInput {
  readonly merchant_id: string
  readonly api_version: ApiVersion
  readonly environment: Environment
}

const DEFAULT_SETTINGS = {
  scopes: [],
  currencies: [],
  ip_allowlist: [],
  daily_limit: 0n,
  rate_limits: [],
  disabled_methods: [],
}

/** Issues a credential. This is the only time that its secret is returned. */
export async function createCredential(
  deps: MerchantsDeps,
  input: NewCredential,
): Promise<{ credential: Credential; secret: Secret }> {
  const { store, keyring } = deps
  const merchant = await getMerchant(deps, input.merchant_id)
  const { merchant_id } = merchant
  const environment = checkEnvironmentOf(merchant, input.environment)
  const settings = { ...DEFAULT_SETTINGS, ...checkCredentialSettings(input) }
  const routes = input.service_ids.length > 0 ? await store.routes.listByMerchant(merchant_id) : []
  const service_ids = checkServiceIds(input.service_ids, routes, environment)
  checkOwnedLimit(await store.credentials.listByMerchant(merchant_id))

  const application_id = await store.issued_ids.issue('credential')
  const secret = newSecret()
  const created_at = now()
  const credential = await store.credentials.insert({
    application_id,
    merchant_id,
    environment,
    ...settings,
    service_ids,
    api_version: input.api_version,
    status: 'active',
    secrets: [{ sealed: keyring.seal(secret, ownerOfCredentialSecret(application_id)) }],
    created_at,
    updated_at: created_at,
  })
  await deps.announceChange(ChangeKind.CREDENTIAL, application_id, merchant_id)
  return { credential, secret }
}

/** Reads a credential. Refuses an empty id with 1005 and an unknown one with 3003. */
async function getCredential({ store }: MerchantsDeps, application_id: string): Promise<Credential> {
  // A request without the id carries 0.
  if (application_id === '' || application_id === '0') throw fieldError(1005, 'application_id')
  const id = parseNumericId(application_id)
  const credential = id === undefined ? undefined : await store.credentials.get(id)
  if (!credential) throw notFound(3003, 'application_id')
  return credential
}

/** Lists the credentials of a merchant, in the order of their ids. Refuses an unknown merchant with 1003. */
export async function listCredentials(
  deps: MerchantsDeps,
  merchant_id: string,
): Promise<readonly Credential[]> {
  await getMerchant(deps, merchant_id)
  return await deps.store.credentials.listByMerchant(merchant_id)
}

/** The changes of a credential. Absent fields keep their values. */
export interface CredentialChanges extends Partial<CredentialSettingsInput> {
  readonly status?: CredentialStatus
}

/** Changes a credential. Every gateway refuses a blocked one within 5 s, as long as this service is reachable. */
export async function updateCredential(
  deps: MerchantsDeps,
  application_id: string,
  input: CredentialChanges,
): Promise<Credential> {
  const { store } = deps
  // Merchant and environment of a credential never change, so they may be read before the write.
  const { application_id: id, merchant_id, environment } = await getCredential(deps, application_id)
  const settings = checkCredentialSettings(input)
  const routes = input.service_ids?.length ? await store.routes.listByMerchant(merchant_id) : []
  const changes = {
    ...(input.status && { status: input.status }),
    ...settings,
    ...(input.service_ids && { service_ids: checkServiceIds(input.service_ids, routes, environment) }),
  }
  const credential = await store.credentials.update(id, () => changes)
  if (!credential) throw notFound(3003, 'application_id')
  await deps.announceChange(ChangeKind.CREDENTIAL, id, merchant_id)
  return credential
}

const OVERLAP_MAX_SECONDS = 30 * 86_400
/** The gateway tries every valid secret of a credential, so their number is limited. */
const OLDER_SECRETS_MAX = 10

/**
 * Replaces the API secret of a credential (A6). The previous secret stays valid for the overlap, and older ones until
 * the times that were stated for them. An overlap of 0 ends all of them at once, for a secret that leaked. Refuses an
 * overlap with 9000 while 10 older secrets are valid.
 */
export async function rotateSecret(
  deps: MerchantsDeps,
  application_id: string,
  overlap_seconds: number,
): Promise<{ secret: Secret; old_secret_expires_at: Date }> {
  checkInteger(overlap_seconds, 'overlap_seconds', 0, OVERLAP_MAX_SECONDS)
  const { store, keyring } = deps
  const { application_id: id } = await getCredential(deps, application_id)
  const secret = newSecret()
  const sealed = keyring.seal(secret, ownerOfCredentialSecret(id))
  const old_secret_expires_at = new Date(now().getTime() + overlap_seconds * 1_000)
  const credential = await store.credentials.update(id, ({ secrets }) => ({
    secrets: [{ sealed }, ...(overlap_seconds === 0 ? [] : keepOlder(secrets, old_secret_expires_at))],
  }))
  if (!credential) throw notFound(3003, 'application_id')
  await deps.announceChange(ChangeKind.CREDENTIAL, id, credential.merchant_id)
  return { secret, old_secret_expires_at }
}

/** The secrets that stay valid. Only the previous secret has no `expires_at` yet. */
function keepOlder(secrets: readonly StoredSecret[], previous_expires_at: Date): StoredSecret[] {
  const older = secrets
    .map(({ sealed, expires_at = previous_expires_at }) => ({ sealed, expires_at }))
    .filter(({ expires_at }) => expires_at > now())
  if (older.length <= OLDER_SECRETS_MAX) return older
  throw fieldError(
    9000,
    'overlap_seconds',
    `0, which ends them, while ${OLDER_SECRETS_MAX} older secrets verify`,
  )
}
