import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { newSecret, type Secret } from '#lib/base/crypto/secret.ts'
import { isUuid } from '#lib/base/ids.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import { checkDeliverySettings, checkEvents, type Endpoint } from '../domain/endpoint.ts'
import { notFound } from '../domain/field-checks.ts'
import { checkCallbackUrl } from './check-callback-url.ts'
import type { MerchantsDeps } from './deps.ts'

/**
 * The changes of an endpoint. Absent fields keep their values. With an empty `events`, or when it is disabled, the endpoint
 * gets no further events; deliveries already created continue. At creation an empty `events` means the five payment
 * events.
 */
export interface EndpointChanges {
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
