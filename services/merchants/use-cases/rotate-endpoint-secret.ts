import { newSecret, type Secret } from '#lib/platform/crypto/secret.ts'
import { sealedForEndpoint } from '../domain/endpoint.ts'
import type { Registry } from './registry.ts'
import { changeEndpoint } from './update-endpoint.ts'

/** Replaces the secret of an endpoint at once. It also starts the deliveries of one that never had a secret (N7). */
export async function rotateEndpointSecret(registry: Registry, endpoint_id: string): Promise<Secret> {
  const secret = newSecret()
  const sealed_secret = registry.keyring.seal(secret, sealedForEndpoint(endpoint_id))
  await changeEndpoint(registry, endpoint_id, () => ({ sealed_secret }))
  return secret
}
