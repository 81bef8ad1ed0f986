import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { newSecret, type Secret } from '#lib/base/crypto/secret.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { PAYMENT_EVENTS } from '#lib/contract/events.ts'
import { ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import { checkDeliverySettings, checkEvents, type Endpoint } from '../domain/endpoint.ts'
import { checkEnvironmentOf, checkOwnedLimit } from '../domain/merchant.ts'
import { checkCallbackUrl } from './check-callback-url.ts'
import type { MerchantsDeps } from './deps.ts'
import { getMerchant } from './get-merchant.ts'

/**
 * The fields of a new endpoint. A number that is 0 takes its default. An empty `events` means the five payment events
 * here; in an update it means none.
 */
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

/** Creates a callback endpoint. Its secret is returned now, and after a rotation; no read returns it. */
export async function createEndpoint(
  deps: MerchantsDeps,
  input: NewEndpoint,
): Promise<{ endpoint: Endpoint; secret: Secret }> {
  const { store, keyring } = deps
  const merchant = await getMerchant(deps, input.merchant_id)
  const { merchant_id } = merchant
  const environment = checkEnvironmentOf(merchant, input.environment)
  const content = {
    url: await checkCallbackUrl(deps, input.url, environment),
    events: input.events.length === 0 ? PAYMENT_EVENTS : checkEvents(input.events),
    ...DELIVERY_DEFAULTS,
    ...checkDeliverySettings({
      ...(input.timeout_seconds !== 0 && { timeout_seconds: input.timeout_seconds }),
      ...(input.max_retries !== 0 && { max_retries: input.max_retries }),
      ...(input.retry_delay_seconds !== 0 && { retry_delay_seconds: input.retry_delay_seconds }),
    }),
  }
  checkOwnedLimit(await store.endpoints.listByMerchant(merchant_id))

  const endpoint_id = uuidv7()
  const secret = newSecret()
  const created_at = now()
  const endpoint = await store.endpoints.insert({
    endpoint_id,
    merchant_id,
    environment,
    ...content,
    enabled: true,
    sealed_secret: keyring.seal(secret, ownerOfEndpointSecret(endpoint_id)),
    created_at,
    updated_at: created_at,
  })
  await deps.announceChange(ChangeKind.ENDPOINT, endpoint_id, merchant_id)
  return { endpoint, secret }
}
