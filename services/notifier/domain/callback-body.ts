import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { MerchantEvent } from '#gen/multihub/events/v1/event_pb.ts'
import { PAYMENT_VIEW } from '#lib/contract/public-payment.ts'
import { CHARGEBACK_VIEW, REFUND_VIEW, TICKET_SNAPSHOT_VIEW } from '#lib/contract/public-support.ts'

/** The resource of an event in its public form: its public id and the `result` field of the callback. */
interface PublicResource {
  /** The id that merchants know: the `h_id` of a payment, never its internal `payment_id`. */
  readonly public_id: string
  readonly result: Readonly<Record<string, unknown>>
}

/** The values of a callback's body that do not come from its event. `processing_time` is in milliseconds. */
interface CallbackMetadata {
  /** Used when the event has no time of its own. */
  readonly created_at: Date
  readonly request_id: string
  readonly processing_time: number
}

/** Converts the resource of an event. Throws a `TypeError` for a kind of resource that this version does not know. */
export function toPublicResource({ resource }: MerchantEvent): PublicResource {
  switch (resource.case) {
    case 'payment': {
      const payment = PAYMENT_VIEW.render(resource.value, 'callback')
      return { public_id: resource.value.hId, result: { payment } }
    }
    case 'refund': {
      const refund = REFUND_VIEW.render(resource.value, 'callback')
      return { public_id: resource.value.refundId, result: { refund } }
    }
    case 'chargeback': {
      const chargeback = CHARGEBACK_VIEW.render(resource.value, 'callback')
      return { public_id: resource.value.chargebackId, result: { chargeback } }
    }
    case 'ticket': {
      const ticket = TICKET_SNAPSHOT_VIEW.render(resource.value, 'callback')
      return { public_id: resource.value.ticketId, result: { ticket } }
    }
    default:
      throw new TypeError('the event has no resource that this version knows')
  }
}

/**
 * Makes the bytes of a callback (spec: Delivery body). They are made once per event and stored, so that every attempt
 * to every destination sends the same bytes.
 */
export function callbackBody(
  event: MerchantEvent,
  { public_id, result }: PublicResource,
  { created_at, request_id, processing_time }: CallbackMetadata,
): Uint8Array {
  const at = event.createTime ? timestampDate(event.createTime) : created_at
  const metadata = { created_at: at, request_id, processing_time }
  return bodyBytes(callbackId(event, public_id), result, metadata, event.merchantId)
}

/** Makes the bytes of the event `webhook.test`, whose `result` is empty. */
export function testBody(id: string, merchant_id: string, metadata: CallbackMetadata): Uint8Array {
  return bodyBytes(id, {}, metadata, merchant_id)
}

function bodyBytes(
  id: string,
  result: PublicResource['result'],
  { created_at, request_id, processing_time }: CallbackMetadata,
  merchant_id: string,
): Uint8Array {
  const data = { next: null, result, success: true, request_id, processing_time }
  return Buffer.from(JSON.stringify({ id, created_at: created_at.toISOString(), data, merchant_id }))
}

/** The same for every delivery of an event, and different for the events of a resource that can repeat (S12). */
function callbackId({ event, number }: MerchantEvent, public_id: string): string {
  return number === 0 ? `${public_id}:${event}` : `${public_id}:${event}:${number}`
}
