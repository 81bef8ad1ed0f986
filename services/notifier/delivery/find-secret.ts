import { LRUCache } from 'lru-cache'
import { ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import type { RegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import type { Keyring } from '#lib/platform/crypto/keyring.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { MakeAttemptDeps } from './make-attempt.ts'

/** The most secrets of endpoints that are kept decrypted. */
const UNSEALED_MAX = 1_000

/**
 * Finds the secret that signs a delivery: the one stored with it for a payment's own `webhook_url`, else the present
 * secret of its endpoint, so that a rotated secret signs retries too. Secrets of endpoints are decrypted once, because that
 * costs as much as a signature.
 */
export function createFindSecret(
  registry_cache: Pick<RegistryCache, 'merchantEndpoints'>,
  keyring: Pick<Keyring, 'unseal'>,
): MakeAttemptDeps['findSecret'] {
  const unsealed = new LRUCache<string, Secret>({ max: UNSEALED_MAX })

  function unsealOnce(sealed: string, owner: string): Secret {
    // With the owner: a secret that is sealed for another one must not be found.
    const key = `${owner} ${sealed}`
    const known = unsealed.get(key)
    if (known !== undefined) return known
    const secret = keyring.unseal(sealed, owner)
    unsealed.set(key, secret)
    return secret
  }

  return async (delivery: Delivery): Promise<Secret | undefined> => {
    if (delivery.secret) return keyring.unseal(delivery.secret.sealed, delivery.secret.owner)
    const { endpoint_id } = delivery
    if (endpoint_id === undefined) return undefined
    const endpoints = await registry_cache.merchantEndpoints(delivery.merchant_id, delivery.environment)
    const secret = endpoints.find(({ endpoint }) => endpoint?.endpointId === endpoint_id)?.secret
    return secret && unsealOnce(secret.sealed, ownerOfEndpointSecret(endpoint_id))
  }
}
