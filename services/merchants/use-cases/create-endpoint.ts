import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { PAYMENT_EVENTS } from '#lib/contract/vocabulary.ts'
import { newSecret, type Secret } from '#lib/platform/crypto/secret.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { now } from '#lib/platform/time.ts'
import { checkDelivery, checkEvents, checkUrl, type Endpoint, sealedForEndpoint } from '../domain/endpoint.ts'
import { checkEnvironmentOf } from '../domain/merchant.ts'
import { type Registry, refuseWhenFull, requireMerchant } from './registry.ts'

/** What the operator says of a new endpoint; 0 takes the default of a number, an empty list the payment events. */
export interface NewEndpoint {
  readonly merchant_id: string
  readonly environment: Environment
  readonly url: string
  readonly events: readonly string[]
  readonly timeout_seconds: number
  readonly max_retries: number
  readonly retry_delay_seconds: number
}

const DELIVERY_DEFAULTS = { timeout_seconds: 30, max_retries: 3, retry_delay_seconds: 1 }

/** Adds an endpoint. The secret is in this answer and nowhere else. */
export async function createEndpoint(
  registry: Registry,
  given: NewEndpoint,
): Promise<{ endpoint: Endpoint; secret: Secret }> {
  const { store, keyring } = registry
  const merchant = await requireMerchant(registry, given.merchant_id)
  const { merchant_id } = merchant
  const environment = checkEnvironmentOf(merchant, given.environment)
  const content = {
    url: checkUrl(given.url, { environment, allow: registry.mayCall(environment) }),
    events: given.events.length === 0 ? PAYMENT_EVENTS : checkEvents(given.events),
    ...DELIVERY_DEFAULTS,
    ...checkDelivery({
      ...(given.timeout_seconds !== 0 && { timeout_seconds: given.timeout_seconds }),
      ...(given.max_retries !== 0 && { max_retries: given.max_retries }),
      ...(given.retry_delay_seconds !== 0 && { retry_delay_seconds: given.retry_delay_seconds }),
    }),
  }
  refuseWhenFull(await store.endpoints.ofMerchant(merchant_id))

  const endpoint_id = uuidv7()
  const secret = newSecret()
  const created_at = now()
  const endpoint = await store.endpoints.insert({
    endpoint_id,
    merchant_id,
    environment,
    ...content,
    enabled: true,
    sealed_secret: keyring.seal(secret, sealedForEndpoint(endpoint_id)),
    created_at,
    updated_at: created_at,
  })
  await registry.announce(ChangeKind.ENDPOINT, endpoint_id, merchant_id)
  return { endpoint, secret }
}
