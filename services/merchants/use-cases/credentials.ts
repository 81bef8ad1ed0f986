import { newSecret, type Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import { findDone, requestedOperation, withDone } from '#lib/patterns/idempotency/done-operations.ts'
import {
  CREDENTIAL_SETTINGS,
  type Credential,
  type CredentialContext,
  type StoredSecret,
} from '../domain/credential.ts'
import { checkOwnedLimit } from '../domain/merchant.ts'
import { changedSettings, checkInteger, type GivenSettings, newSettings } from '../domain/settings.ts'
import { createOnce, isRotationShown, isSecretShown } from './create-once.ts'
import type { MerchantsDeps } from './deps.ts'
import { scopeOf } from './merchants.ts'

type GivenCredential = GivenSettings<typeof CREDENTIAL_SETTINGS>

/**
 * Issues a credential, once per `operation_id`. Only here is its secret returned, and to repetitions within 10 minutes while
 * it is valid.
 */
export async function createCredential(
  deps: MerchantsDeps,
  { operation_id, principal_id }: Pick<RequestedRotation, 'operation_id' | 'principal_id'>,
  given: GivenCredential & Pick<Credential, 'merchant_id' | 'environment' | 'api_version'>,
): Promise<{ credential: Credential; secret: Secret | undefined }> {
  const { credentials, issued_ids } = deps.store
  const { credential: keyring } = deps.keys
  const creation = { merchant_id: given.merchant_id, operation_id, principal_id, given }
  const credential = await createOnce(deps.store, credentials, creation, async () => {
    const scope = await scopeOf(deps, given)
    checkScopes(given)
    const settings = newSettings(CREDENTIAL_SETTINGS, given, await contextOf(deps, scope, given))
    checkOwnedLimit(await credentials.listByMerchant(scope.merchant_id))
    return {
      issueId: () => issued_ids.issue('credential').then(String),
      documentOf: (id) => {
        const application_id = Number(id)
        const sealed = keyring.seal(newSecret(), ownerOfCredentialSecret(application_id))
        const { api_version } = given
        const secrets = [{ sealed, is_first: true }]
        return { application_id, ...scope, ...settings, api_version, secrets, secret_created_at: now() }
      },
    }
  })
  const first = credential.secrets.find(({ is_first }) => is_first)
  const is_shown =
    first && isSecretShown(credential.created_at) && !(first.expires_at && first.expires_at <= now())
  const secret = is_shown
    ? keyring.unseal(first.sealed, ownerOfCredentialSecret(credential.application_id))
    : undefined
  return { credential, secret }
}

/** Refuses a credential with support methods, all of which would be refused for want of a scope (A10). */
function checkScopes({ support_resources = [], scopes = [] }: GivenCredential): void {
  if (support_resources.length > 0 && scopes.length === 0) throw fieldError(1005, 'scopes')
}

/** Changes a credential. Every gateway refuses a blocked one within 5 s, as long as this service is reachable. */
export async function updateCredential(
  deps: MerchantsDeps,
  application_id: string,
  given: GivenCredential,
): Promise<Credential> {
  // Merchant and environment of a credential never change, so they may be read before the write.
  const current = await deps.store.credentials.get(application_id)
  const changes = changedSettings(CREDENTIAL_SETTINGS, given, await contextOf(deps, current, given))
  return deps.store.credentials.update(application_id, () => changes)
}

/** Reads the routes of the merchant only if the request names some. */
async function contextOf(
  { store }: MerchantsDeps,
  { merchant_id, environment }: Pick<Credential, 'merchant_id' | 'environment'>,
  { service_ids = [] }: GivenCredential,
): Promise<CredentialContext> {
  return { environment, routes: service_ids.length > 0 ? await store.routes.listByMerchant(merchant_id) : [] }
}

const OVERLAP_MAX_SECONDS = 30 * 86_400
/** The gateway tries every valid secret of a credential, so their number is limited. */
const OLDER_SECRETS_MAX = 10

/** How long the previous secret stays valid, and what identifies the rotation. */
interface RequestedRotation {
  readonly overlap_seconds: number
  /** Empty for a rotation that is never repeated. */
  readonly operation_id: string
  /** Who asks: no other principal gets the secret. */
  readonly principal_id: string
}

/**
 * Replaces the API secret of a credential (A6), once per `operation_id`. The previous secret stays valid for the overlap, and older
 * ones until the times that were stated for them. An overlap of 0 ends all of them at once, for a secret that leaked. Refuses an
 * overlap with 9000 while 10 older secrets are valid, and with 1013 an `operation_id` of a rotation with another overlap or by another
 * principal.
 */
export async function rotateSecret(
  { store, keys }: MerchantsDeps,
  application_id: string,
  { overlap_seconds, operation_id, principal_id }: RequestedRotation,
): Promise<{ secret: Secret | undefined; old_secret_expires_at: Date }> {
  checkInteger(overlap_seconds, 'overlap_seconds', 0, OVERLAP_MAX_SECONDS)
  const rotation = requestedOperation(operation_id, { overlap_seconds }, principal_id)
  const owner = ownerOfCredentialSecret(application_id)
  const sealed = keys.credential.seal(newSecret(), owner)
  const at = now()
  const expiryAfter = (issued_at: Date): Date => new Date(issued_at.getTime() + overlap_seconds * 1_000)
  const { secrets, rotations, secret_created_at } = await store.credentials.update(
    application_id,
    (current) =>
      findDone(current.rotations, rotation)
        ? undefined
        : {
            secret_created_at: at,
            secrets: [
              { sealed },
              ...(overlap_seconds === 0 ? [] : keepOlder(current.secrets, expiryAfter(at))),
            ],
            rotations: withDone(current.rotations, rotation, at),
          },
  )
  const [newest] = secrets
  const is_shown = newest !== undefined && isRotationShown(rotations, rotation, secret_created_at)
  return {
    secret: is_shown ? keys.credential.unseal(newest.sealed, owner) : undefined,
    old_secret_expires_at: expiryAfter(findDone(rotations, rotation)?.at ?? at),
  }
}

/** The secrets that stay valid. Only the previous secret has no `expires_at` yet. */
function keepOlder(secrets: readonly StoredSecret[], previous_expires_at: Date): StoredSecret[] {
  const older = secrets
    .map((secret) => ({ ...secret, expires_at: secret.expires_at ?? previous_expires_at }))
    .filter(({ expires_at }) => expires_at > now())
  if (older.length <= OLDER_SECRETS_MAX) return older
  throw fieldError(
    9000,
    'overlap_seconds',
    `0, which ends them, while ${OLDER_SECRETS_MAX} older secrets verify`,
  )
}
