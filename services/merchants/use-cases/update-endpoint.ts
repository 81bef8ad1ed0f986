import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { isUuid } from '#lib/platform/ids.ts'
import { missing, notFound } from '../domain/check.ts'
import { checkDelivery, checkEvents, checkUrl, type Endpoint } from '../domain/endpoint.ts'
import type { Registry } from './registry.ts'

/** What the operator changes of an endpoint; what is left out stays. An empty list of events ends all deliveries. */
export interface EndpointChanges {
  readonly url?: string
  readonly events?: readonly string[]
  readonly timeout_seconds?: number
  readonly max_retries?: number
  readonly retry_delay_seconds?: number
  readonly enabled?: boolean
}

/** Changes an endpoint. */
export async function updateEndpoint(
  registry: Registry,
  endpoint_id: string,
  given: EndpointChanges,
): Promise<Endpoint> {
  return await changeEndpoint(registry, endpoint_id, ({ environment }) => ({
    ...(given.url !== undefined && {
      url: checkUrl(given.url, { environment, allow: registry.mayCall(environment) }),
    }),
    ...(given.events && { events: checkEvents(given.events) }),
    ...checkDelivery(given),
    ...(given.enabled !== undefined && { enabled: given.enabled }),
  }))
}

/** Writes a change of an endpoint and announces it; refuses an id that names none. */
export async function changeEndpoint(
  registry: Registry,
  endpoint_id: string,
  decide: (current: Endpoint) => Partial<Endpoint>,
): Promise<Endpoint> {
  if (endpoint_id === '') throw missing('endpoint_id')
  const endpoint = isUuid(endpoint_id) && (await registry.store.endpoints.change(endpoint_id, decide))
  if (!endpoint) throw notFound(1003, 'endpoint_id')
  await registry.announce(ChangeKind.ENDPOINT, endpoint_id, endpoint.merchant_id)
  return endpoint
}
