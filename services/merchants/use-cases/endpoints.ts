import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { newSecret, type Secret } from '#lib/base/crypto/secret.ts'
import { isUuid, uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { PAYMENT_EVENTS } from '#lib/contract/events.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import { checkDeliverySettings, checkEvents, checkUrl, type Endpoint } from '../domain/endpoint.ts'
import { notFound } from '../domain/field-checks.ts'
import { checkEnvironmentOf, checkOwnedLimit } from '../domain/merchant.ts'
import type { MerchantsDeps } from './deps.ts'
import { getMerchant } from './merchants.ts'

/**
 * The fields of a new endpoint. A number that is 0 takes its default. An empty `events` means the five payment events
 * here; in an update it means none.
 */
interface NewEndpoint {
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

/** Lists the endpoints of a merchant, in the order of creation. Refuses an unknown merchant with 1003. */
export async function listEndpoints(deps: MerchantsDeps, merchant_id: string): Promise<readonly Endpoint[]> {
  await getMerchant(deps, merchant_id)
  return await deps.store.endpoints.listByMerchant(merchant_id)
}

/**
 * The changes of an endpoint. Absent fields keep their values. With an empty `events`, or when it is disabled, the endpoint
 * gets no further events; deliveries already created continue. At creation an empty `events` means the five payment
 * events.
 */
interface EndpointChanges {
  readonly url?: string
  readonly events?: readonly string[]
  readonly timeout_seconds?: number
  readonly max_retries?: number
  readonly retry_delay_seconds?: number
  readonly enabled?: boolean
}

/** Changes an endpoint. Refuses an unknown id with 1003. */
export async function updateEndpoint(
  deps: MerchantsDeps,
  endpoint_id: string,
  input: EndpointChanges,
): Promise<Endpoint> {
  const url = input.url === undefined ? undefined : await checkNewUrl(deps, endpoint_id, input.url)
  return await writeChanges(deps, endpoint_id, () => ({
    ...(url !== undefined && { url }),
    ...(input.events && { events: checkEvents(input.events) }),
    ...checkDeliverySettings(input),
    ...(input.enabled !== undefined && { enabled: input.enabled }),
  }))
}

/**
 * Replaces the secret of an endpoint. The old secret stops signing at once, also for retries. An endpoint whose secret was
 * never issued starts to deliver (N7).
 */
export async function rotateEndpointSecret(deps: MerchantsDeps, endpoint_id: string): Promise<Secret> {
  const secret = newSecret()
  const sealed_secret = deps.keyring.seal(secret, ownerOfEndpointSecret(endpoint_id))
  await writeChanges(deps, endpoint_id, () => ({ sealed_secret }))
  return secret
}

/** The rules for a URL depend on the environment of its endpoint, which never changes. */
async function checkNewUrl(deps: MerchantsDeps, endpoint_id: string, url: string): Promise<string> {
  requiredText(endpoint_id, 'endpoint_id')
  const endpoint = isUuid(endpoint_id) ? await deps.store.endpoints.get(endpoint_id) : undefined
  if (endpoint === undefined) throw notFound(1003, 'endpoint_id')
  return checkCallbackUrl(deps, url, endpoint.environment)
}

async function writeChanges(
  deps: MerchantsDeps,
  endpoint_id: string,
  decide: (current: Endpoint) => Partial<Endpoint>,
): Promise<Endpoint> {
  requiredText(endpoint_id, 'endpoint_id')
  const endpoint = isUuid(endpoint_id) && (await deps.store.endpoints.update(endpoint_id, decide))
  if (!endpoint) throw notFound(1003, 'endpoint_id')
  await deps.announceChange(ChangeKind.ENDPOINT, endpoint_id, endpoint.merchant_id)
  return endpoint
}

/** Accepts the URL of an endpoint by its text and by the present addresses of its host (N9); anything else is 9000. */
export async function checkCallbackUrl(
  {
    callbackAddressPolicy,
    acceptsCallbackHost,
  }: Pick<MerchantsDeps, 'callbackAddressPolicy' | 'acceptsCallbackHost'>,
  text: string,
  environment: Environment,
): Promise<string> {
  const url = checkUrl(text, { environment, allow: callbackAddressPolicy(environment) })
  if (await acceptsCallbackHost(url, environment)) return url
  throw fieldError(9000, 'url', 'a host with public addresses only')
}
