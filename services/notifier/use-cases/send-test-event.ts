import type { Client } from '@connectrpc/connect'
import type { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { testBody } from '../domain/callback-body.ts'
import { newDelivery } from '../domain/delivery.ts'
import { destinationKeyOf } from '../domain/destination.ts'
import { deliveryIdOf } from '../domain/event.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Events } from '../store/events.ts'

/** What a test event needs. */
export interface SendTestEventDeps {
  readonly events: Events
  readonly pipeline: Pick<Pipeline, 'queueDelivery'>
  readonly retention_ms: number
  /** The present time by the clock of the store. */
  storeNow(): Date
  readonly registry: Pick<Client<typeof RegistryService>, 'getEndpoint'>
}

const EVENT = 'webhook.test'

/**
 * Sends the event `webhook.test` to one endpoint, whatever events it lists, also while it is disabled. Each call is a new
 * event with one delivery, whose id is returned. Throws 1003 for an unknown endpoint.
 */
export async function sendTestEvent(deps: SendTestEventDeps, endpoint_id: string): Promise<string> {
  const { endpoint } = (await deps.registry.getEndpoint({ endpointId: endpoint_id })).endpoint ?? {}
  if (endpoint === undefined) throw new PublicError(1003, { details: { description: 'endpoint_id' } })
  const { merchantId: merchant_id, url, timeoutSeconds: timeout_seconds } = endpoint
  const { maxRetries: max_retries, retryDelaySeconds: retry_delay_seconds } = endpoint
  const environment = ENVIRONMENTS.fromProtoOrThrow(endpoint.environment, 'environment')
  const created_at = deps.storeNow()
  const id = uuidv7()
  const event_key = `${EVENT}:${id}`
  const destination_key = destinationKeyOf(merchant_id, environment, { endpoint_id, url })
  const target = {
    delivery_id: deliveryIdOf({ merchant_id, event_key, created_at }, destination_key),
    destination_key,
    endpoint_id,
    url,
    timeout_seconds,
    max_retries,
    retry_delay_seconds,
  }
  const stored = await deps.events.insert({
    merchant_id,
    event_key,
    event: EVENT,
    body: testBody(`${id}:${EVENT}`, merchant_id, { created_at, request_id: uuidv7(), processing_time: 0 }),
    destinations: [target],
    created_at,
    kept_until: new Date(created_at.getTime() + deps.retention_ms),
  })
  const delivery = newDelivery(target, stored, { environment, resource_id: '' }, created_at)
  await deps.pipeline.queueDelivery(delivery, stored.body)
  return target.delivery_id
}
