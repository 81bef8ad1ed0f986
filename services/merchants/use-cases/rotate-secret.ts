import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { newSecret, type Secret } from '#lib/platform/crypto/secret.ts'
import { now } from '#lib/platform/time.ts'
import { checkInteger, invalid, notFound } from '../domain/check.ts'
import { type StoredSecret, sealedFor } from '../domain/credential.ts'
import type { Registry } from './registry.ts'
import { requireCredential } from './update-credential.ts'

const OVERLAP_MAX_SECONDS = 30 * 86_400
/** The gateway tries every secret that verifies, so their number has to have an end. */
const OLDER_MAX = 10

/**
 * Replaces the API secret (A6): the one before also verifies for the overlap, and those before it until the times that
 * were stated for them. Without an overlap all of them end at once, which is for a secret that leaked. Throws 9000 for
 * an overlap while too many others run.
 */
export async function rotateSecret(
  registry: Registry,
  application_id: string,
  overlap_seconds: number,
): Promise<{ secret: Secret; old_secret_expires_at: Date }> {
  checkInteger(overlap_seconds, 'overlap_seconds', 0, OVERLAP_MAX_SECONDS)
  const { store, keyring } = registry
  const { application_id: number } = await requireCredential(registry, application_id)
  const secret = newSecret()
  const sealed = keyring.seal(secret, sealedFor(number))
  const old_secret_expires_at = new Date(now().getTime() + overlap_seconds * 1_000)
  const credential = await store.credentials.change(number, ({ secrets }) => ({
    secrets: [{ sealed }, ...(overlap_seconds === 0 ? [] : olderOf(secrets, old_secret_expires_at))],
  }))
  if (!credential) throw notFound(3003, 'application_id')
  await registry.announce(ChangeKind.CREDENTIAL, number, credential.merchant_id)
  return { secret, old_secret_expires_at }
}

/** What stays of the secrets that there are: only the newest has no time of its own yet. */
function olderOf(secrets: readonly StoredSecret[], newest_expires_at: Date): StoredSecret[] {
  const older = secrets
    .map(({ sealed, expires_at = newest_expires_at }) => ({ sealed, expires_at }))
    .filter(({ expires_at }) => expires_at > now())
  if (older.length <= OLDER_MAX) return older
  throw invalid('overlap_seconds', `0, which ends them, while ${OLDER_MAX} older secrets verify`)
}
