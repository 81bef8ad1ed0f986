import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import type { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import {
  type NotifyPaymentResponse,
  NotifyPaymentResponseSchema,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type { Idempotency, IdempotencyKey, SeededId } from '#lib/patterns/idempotency/idempotency.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import { now } from '#lib/platform/time.ts'
import type { Payment } from '../domain/payment.ts'
import { EVENT_OF } from '../domain/transition-table.ts'
import { merchantEvent } from '../effects/publish-event.ts'
import { toProto } from '../rpc/payment-to-proto.ts'
import { type LookUp, lookUpPayment } from './look-up.ts'

/** What telling a merchant again needs. */
export interface NotifyParts {
  readonly payments: Collection<Payment>
  readonly idempotency: Idempotency
  readonly notifier: Pick<Client<typeof DeliveryService>, 'queueEvent'>
}

/** A merchant's wish to be told again how a payment stands; `payload_hash` is that of all but the operation_id. */
export interface NotifyRequest extends LookUp {
  readonly operation_id?: string
  readonly payload_hash: string
}

const QUEUE_TIMEOUT_MS = 5_000
const MINUTE_MS = 60_000
/** Nobody asks under the key of a minute once that is over; a day is longer than any clock is wrong by. */
const MINUTE_KEY_LIFETIME_MS = 86_400_000

/**
 * Queues the event of the present state and answers the payment as it stood then; an exact retry gets that answer and
 * queues nothing (P15). Who may not see the payment is told so first, whatever was done under the key. Throws 1013 for
 * a key that was used with another payload and 1003 when there is no callback destination.
 */
export async function notifyPayment(
  parts: NotifyParts,
  request: NotifyRequest,
): Promise<NotifyPaymentResponse> {
  const payment = await lookUpPayment(parts.payments, request)
  const work = async (id: SeededId): Promise<Uint8Array> => {
    await queuePresentEvent(parts, payment, id)
    return toBinary(
      NotifyPaymentResponseSchema,
      create(NotifyPaymentResponseSchema, { payment: toProto(payment) }),
    )
  }
  const key = keyOf(request, payment)
  const lifetime_ms = request.operation_id === undefined ? MINUTE_KEY_LIFETIME_MS : undefined
  const result = await parts.idempotency.run(key, request.payload_hash, work, lifetime_ms)
  return fromBinary(NotifyPaymentResponseSchema, result)
}

/**
 * Without an operation_id the key is the payment, the request and the minute (spec: Payments and system, 4), under a
 * method name of its own: no operation_id that a merchant chooses can meet it.
 */
function keyOf(
  { merchant_id, environment, operation_id, payload_hash }: NotifyRequest,
  { payment_id }: Payment,
): IdempotencyKey {
  const method = 'payment.notification'
  if (operation_id !== undefined) return { merchant_id, environment, method, key: operation_id }
  const minute = Math.floor(now().getTime() / MINUTE_MS)
  const key = `${payment_id}:${payload_hash}:${minute}`
  return { merchant_id, environment, method: `${method}:minute`, key }
}

/**
 * Has the notifier deliver a snapshot of the payment as it is now, under the event of its state, and answers the ids
 * of the deliveries. The event's key comes from the seed of the operation: cut off anywhere and repeated, it is queued once.
 */
export async function queuePresentEvent(
  { notifier }: NotifyParts,
  payment: Payment,
  id: SeededId,
): Promise<readonly string[]> {
  const event_key = `${payment.payment_id}:${id('event')}`
  // `processing` has no event of its own: the merchant was last told of the creation (P15).
  const event = EVENT_OF[payment.state] ?? 'payment.created'
  const message = merchantEvent(payment, event_key, event, now())
  return (await notifier.queueEvent({ event: message }, { timeoutMs: QUEUE_TIMEOUT_MS })).deliveryIds
}
