import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { newSecret, type Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import type { StoredSecret } from '../domain/credential.ts'
import { checkInteger, notFound } from '../domain/field-checks.ts'
import type { MerchantsDeps } from './deps.ts'
import { getCredential } from './get-credential.ts'

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
