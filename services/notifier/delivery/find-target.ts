import { LRUCache } from 'lru-cache'
import type { Keys } from '#lib/base/crypto/keys.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import type { RegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import type { Delivery } from '../domain/delivery.ts'
import { addressOfEndpoint, type DeliveryAddress } from '../domain/destination.ts'

/** Finds the destination of an attempt as it is now; `undefined` when it has no secret yet or the endpoint is deleted. */
export type FindTarget = ReturnType<typeof createFindTarget>

/** The most secrets of endpoints that are kept decrypted. */
const UNSEALED_MAX = 1_000

/**
 * Finds where an attempt goes and what signs it: what is stored with the delivery for a payment's own `webhook_url`, else
 * the endpoint as it is now. So retries and probes reach a receiver that has moved, signed with a rotated secret (N6).
 * Secrets of endpoints are decrypted once, because that costs as much as a signature.
 */
export function createFindTarget(
  registry_cache: Pick<RegistryCache, 'merchantEndpoints'>,
  keys: Keys<'endpoint' | 'webhook'>,
) {
  const unsealed = new LRUCache<string, Secret>({ max: UNSEALED_MAX })

  function unsealOnce(sealed: string, owner: string): Secret {
    // With the owner: a secret that is sealed for another one must not be found.
    const key = `${owner} ${sealed}`
    const known = unsealed.get(key)
    if (known !== undefined) return known
    const secret = keys.endpoint.unseal(sealed, owner)
    unsealed.set(key, secret)
    return secret
  }

  return async (
    delivery: Delivery,
  ): Promise<{ readonly address: DeliveryAddress; readonly secret: Secret } | undefined> => {
    const { endpoint_id } = delivery
    if (delivery.secret) {
      const { url, timeout_seconds, max_retries, retry_delay_seconds } = delivery
      const secret = keys.webhook.unseal(delivery.secret.sealed, delivery.secret.owner)
      return { secret, address: { url, timeout_seconds, max_retries, retry_delay_seconds } }
    }
    if (endpoint_id === undefined) return undefined
    const endpoints = await registry_cache.merchantEndpoints(delivery.merchant_id, delivery.environment)
    const { endpoint, secret } = endpoints.find((each) => each.endpoint?.endpointId === endpoint_id) ?? {}
    if (endpoint === undefined || secret === undefined) return undefined
    return {
      secret: unsealOnce(secret.sealed, ownerOfEndpointSecret(endpoint_id)),
      address: addressOfEndpoint(endpoint),
    }
  }
}
