import { type Delivery, DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import type { SimulatedMerchant } from '../../simulation/workload/merchants.ts'
import type { ReceivedCallback } from '../../simulation/world/receiver.ts'
import { enumName } from './enum-name.ts'

/** The retries of a callback to the `webhook_url` of a payment (spec: Delivery and retry, 2). */
const WEBHOOK_URL_RETRIES = 3

/**
 * The documents of the notifier, in the form in which the invariants read them, from the deliveries that the operator
 * lists. The RPCs do not return the bytes of an event, so its first callback counts as them: all others must be equal.
 */
export function notifierDocuments(
  deliveries: readonly Delivery[],
  callbacks: readonly ReceivedCallback[],
  merchants: readonly SimulatedMerchant[],
): { readonly events: readonly object[]; readonly deliveries: readonly object[] } {
  const bodies = new Map<string, string>()
  for (const { headers, body } of callbacks) {
    const id = headers['x-webhook-id'] ?? ''
    if (!bodies.has(id)) bodies.set(id, body)
  }
  const endpoints = new Map(
    merchants.flatMap((merchant) => merchant.endpoints.map((endpoint) => [endpoint.endpoint_id, endpoint])),
  )
  const of_event = new Map<string, Delivery[]>()
  for (const delivery of deliveries) {
    of_event.set(delivery.eventKey, [...(of_event.get(delivery.eventKey) ?? []), delivery])
  }
  return {
    events: [...of_event].map(([event_key, all]) => ({
      merchant_id: all[0]?.merchantId,
      event_key,
      event: all[0]?.event,
      body: Buffer.from(all.map(({ deliveryId }) => bodies.get(deliveryId)).find(Boolean) ?? ''),
      destinations: all.map(({ deliveryId, url }) => ({ delivery_id: deliveryId, url })),
    })),
    deliveries: deliveries.map(({ deliveryId, eventKey, status, url, attempts, endpointId }) => ({
      delivery_id: deliveryId,
      event_key: eventKey,
      status: enumName(DeliveryStatus, status),
      url,
      attempts,
      max_retries: endpoints.get(endpointId)?.max_retries ?? WEBHOOK_URL_RETRIES,
    })),
  }
}
