import type { SealedEndpoint } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { update } from '#lib/patterns/update.ts'
import type { Frozen } from '#lib/platform/deep-freeze.ts'
import { queueAgain } from '../domain/attempt.ts'
import { type Delivery, type DeliveryTarget, deliveryKeyOf } from '../domain/delivery.ts'
import type { Deliveries } from '../store/deliveries.ts'

/** What queueing a dead delivery reads and writes. */
export interface QueueDeadDeps {
  readonly deliveries: Deliveries
  /** The present time by the clock of the store. */
  storeNow(): Date
  /** The present endpoints of a merchant. */
  endpointsOf(merchant_id: string, environment: Environment): Promise<readonly Frozen<SealedEndpoint>[]>
}

/**
 * Queues a dead delivery again: under its old id, with fresh tries, to the present URL of its endpoint with its present
 * limits, because a receiver that was down for long may have moved (N6). Returns the delivery; `undefined` when it is not
 * dead any more. The caller wakes its destination.
 */
export async function queueDead(deps: QueueDeadDeps, dead: Delivery): Promise<Delivery | undefined> {
  const { deliveries, storeNow } = deps
  const target = await presentTarget(deps, dead)
  let is_queued = false
  const stored = await update(deliveries, deliveryKeyOf(dead), (current) => {
    is_queued = current.status === 'dead'
    return is_queued ? { ...queueAgain(current, storeNow()), ...target } : undefined
  })
  return is_queued ? stored : undefined
}

async function presentTarget(
  { endpointsOf }: QueueDeadDeps,
  { endpoint_id, merchant_id, environment }: Delivery,
): Promise<Partial<DeliveryTarget>> {
  if (endpoint_id === undefined) return {}
  const endpoints = await endpointsOf(merchant_id, environment)
  const endpoint = endpoints.find((each) => each.endpoint?.endpointId === endpoint_id)?.endpoint
  if (endpoint === undefined) return {}
  const { url, timeoutSeconds: timeout_seconds } = endpoint
  const { maxRetries: max_retries, retryDelaySeconds: retry_delay_seconds } = endpoint
  return { url, timeout_seconds, max_retries, retry_delay_seconds }
}
