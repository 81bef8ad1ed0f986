import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { MerchantEvent } from '#gen/multihub/events/v1/event_pb.ts'
import { paymentObject } from '#lib/contract/public-payment/public-payment.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { clock, elapsedSince } from '#lib/platform/time.ts'

/**
 * The bytes of a callback (spec: Delivery body). Made once for an event and stored: every attempt, to every
 * destination, sends just these. Throws for an event without a resource that this version knows.
 */
export function callbackBody(event: MerchantEvent, created_at: Date): Uint8Array {
  const began_ms = clock.monotonic_ms()
  const { id, result } = resourceOf(event)
  const body = {
    id: `${id}:${event.event}`,
    created_at: (event.createTime ? timestampDate(event.createTime) : created_at).toISOString(),
    data: {
      next: null,
      result,
      success: true,
      request_id: uuidv7(),
      processing_time: elapsedSince(began_ms),
    },
    merchant_id: event.merchantId,
  }
  return Buffer.from(JSON.stringify(body))
}

/** The id inside, by which the operator finds the deliveries of a resource. */
export function resourceIdOf({ resource }: MerchantEvent): string {
  return resource.case === 'payment' ? resource.value.paymentId : ''
}

function resourceOf({ resource }: MerchantEvent): { id: string; result: Record<string, unknown> } {
  if (resource.case !== 'payment') throw new TypeError('an event has no resource that this version knows')
  return { id: resource.value.hId, result: { payment: paymentObject(resource.value, 'callback') } }
}
