import { ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import type { RegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import type { Keyring } from '#lib/platform/crypto/keyring.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { MakeAttemptDeps } from './make-attempt.ts'

/**
 * Finds the secret that signs a delivery: the one stored with it for a payment's own `webhook_url`, else the present
 * secret of its endpoint, so that a rotated secret signs retries too.
 */
export function createFindSecret(
  registry_cache: Pick<RegistryCache, 'merchantEndpoints'>,
  keyring: Pick<Keyring, 'unseal'>,
): MakeAttemptDeps['findSecret'] {
  return async (delivery: Delivery): Promise<Secret | undefined> => {
    if (delivery.secret) return keyring.unseal(delivery.secret.sealed, delivery.secret.owner)
    const { endpoint_id } = delivery
    if (endpoint_id === undefined) return undefined
    const endpoints = await registry_cache.merchantEndpoints(delivery.merchant_id, delivery.environment)
    const secret = endpoints.find(({ endpoint }) => endpoint?.endpointId === endpoint_id)?.secret
    return secret && keyring.unseal(secret.sealed, ownerOfEndpointSecret(endpoint_id))
  }
}
