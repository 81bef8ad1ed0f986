import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { newSecret, type Secret } from '#lib/crypto/secret.ts'
import { now } from '#lib/time.ts'
import { checkInteger, notFound } from './check.ts'
import { type StoredSecret, sealedFor } from './credential.ts'
import type { Registry } from './registry.ts'
import { requireCredential } from './update-credential.ts'

const OVERLAP_MAX_SECONDS = 30 * 86_400

/**
 * Replaces the API secret (A6): the one before also verifies for the overlap, and a still older one no more, so that
 * at most two verify at any time.
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
    secrets: rotated(secrets, sealed, old_secret_expires_at),
  }))
  if (!credential) throw notFound(3003, 'application_id')
  await registry.announce(ChangeKind.CREDENTIAL, number, credential.merchant_id)
  return { secret, old_secret_expires_at }
}

function rotated(secrets: readonly StoredSecret[], sealed: string, old_expires_at: Date): StoredSecret[] {
  const [newest] = secrets
  if (!newest || old_expires_at <= now()) return [{ sealed }]
  return [{ sealed }, { sealed: newest.sealed, expires_at: old_expires_at }]
}
