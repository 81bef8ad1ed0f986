import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import type { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import {
  type NotifyPaymentResponse,
  NotifyPaymentResponseSchema,
  type ResendCallbackResponse,
  ResendCallbackResponseSchema,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { isFinal } from '#lib/contract/payment-status.ts'
import type { Idempotency, IdempotencyKey, SeededId } from '#lib/patterns/idempotency/idempotency.ts'
import type { Payment } from '../domain/payment.ts'
import { EVENT_OF, merchantEvent } from '../domain/payment-event.ts'
import { paymentToProto } from '../domain/payment-to-proto.ts'
import { type AdmissionDeps, awaitLedgerEntry } from './await-change.ts'
import { findPayment, type PaymentQuery } from './find-payment.ts'

/** What the merchant's requests for callbacks need: `notifyPayment` and `resendCallback`. */
export interface NotificationDeps extends AdmissionDeps {
  readonly idempotency: Idempotency
  readonly notifier: Pick<Client<typeof DeliveryService>, 'receiveEvent'>
}

/** A merchant's request for a callback about the present status of a payment. */
export interface NotificationRequest extends PaymentQuery {
  readonly operation_id?: string | undefined
  /** The hash of the request without its `operation_id`. */
  readonly payload_hash: string
}

const RECEIVE_TIMEOUT_MS = 5_000
const MINUTE_MS = 60_000
/** A key that contains a minute is not used after that minute. One day exceeds any error of a clock. */
const MINUTE_KEY_LIFETIME_MS = 86_400_000

/**
 * The merchant's `payment.notification`: queues the event of the payment's present status and returns the payment. An
 * exact retry gets the same response and queues nothing (P15). The lookup and its policy check come first, also for a
 * retry. Throws 1013 for a key that was used with another payload, and 1003 when there is no callback destination.
 */
export async function notifyPayment(
  deps: NotificationDeps,
  request: NotificationRequest,
): Promise<NotifyPaymentResponse> {
  const payment = await findPayment(deps, request)
  const work = async (id: SeededId): Promise<Uint8Array> => {
    await queueStatusEvent(deps, payment, id)
    const kept = { ...paymentToProto(payment), ...withoutPerson(payment) }
    return toBinary(NotifyPaymentResponseSchema, create(NotifyPaymentResponseSchema, { payment: kept }))
  }
  const key = idempotencyKey(request, payment)
  const lifetime_ms = request.operation_id === undefined ? MINUTE_KEY_LIFETIME_MS : undefined
  const result = await deps.idempotency.run(key, request.payload_hash, work, lifetime_ms)
  const response = fromBinary(NotifyPaymentResponseSchema, result)
  const { details, receiver, redirect } = paymentToProto(payment)
  const { payment: kept } = response
  if (kept) {
    kept.details = details
    kept.receiver ??= receiver
    kept.redirect ??= redirect
  }
  return response
}

/**
 * The fields of a payment that identify a person and that its record of a request does not keep (O11). They are never changed:
 * a response that showed them gets them from the payment again, as long as it has them.
 */
function withoutPerson({ beneficiary, instructions }: Payment) {
  const is_empty = beneficiary === undefined && instructions === undefined
  return { details: undefined, ...(is_empty ? {} : { receiver: undefined, redirect: undefined }) }
}

/**
 * Without an `operation_id` the key consists of the payment, the request and the minute (spec: Payments and system, 4).
 * It has a method name of its own, so that it cannot equal an `operation_id` that a merchant chooses.
 */
function idempotencyKey(
  { merchant_id, environment, operation_id, payload_hash }: NotificationRequest,
  { payment_id }: Payment,
): IdempotencyKey {
  const method = 'payment.notification'
  if (operation_id !== undefined) return { merchant_id, environment, method, key: operation_id }
  const minute = Math.floor(now().getTime() / MINUTE_MS)
  const key = `${payment_id}:${payload_hash}:${minute}`
  return { merchant_id, environment, method: `${method}:minute`, key }
}

/**
 * Makes the notifier deliver a snapshot of the payment, under the event of its status, and returns the delivery ids. The
 * event key comes from the seed of the operation, so that a repetition after a crash queues the event only once. Waits
 * until the ledger entry of the status is posted (P9). Throws `Unavailable` when that takes too long, and 1003, with nothing
 * stored, when the event has no destination.
 */
async function queueStatusEvent(
  { payments, notifier }: NotificationDeps,
  payment: Payment,
  id: SeededId,
): Promise<readonly string[]> {
  await awaitLedgerEntry(payments, payment)
  const event_key = `${payment.payment_id}:${id('event')}`
  // `processing` has no event of its own, so the last event was the event of the creation (P15).
  const event = EVENT_OF[payment.status] ?? 'payment.created'
  const message = merchantEvent(payment, event_key, event, now())
  const { deliveryIds } = await notifier.receiveEvent(
    { event: toBinary(MerchantEventSchema, message) },
    { timeoutMs: RECEIVE_TIMEOUT_MS },
  )
  if (deliveryIds.length === 0)
    throw new PublicError(1003, { details: { description: 'no callback destination' } })
  return deliveryIds
}

/**
 * The merchant's `webhook.resend`: queues the event of the final status again and returns the ids of the new
 * deliveries. An exact retry returns the same ids and queues nothing (P15). Throws 8801 while the status is not final,
 * otherwise the same as `notifyPayment`.
 */
export async function resendCallback(
  deps: NotificationDeps,
  request: NotificationRequest & { readonly operation_id: string },
): Promise<ResendCallbackResponse> {
  const payment = await findPayment(deps, request)
  const { merchant_id, environment, operation_id, payload_hash } = request
  const key = { merchant_id, environment, method: 'webhook.resend', key: operation_id }
  const result = await deps.idempotency.run(key, payload_hash, async (id) => {
    if (!isFinal(payment.status)) throw new PublicError(8801)
    const deliveryIds = [...(await queueStatusEvent(deps, payment, id))]
    return toBinary(ResendCallbackResponseSchema, create(ResendCallbackResponseSchema, { deliveryIds }))
  })
  return fromBinary(ResendCallbackResponseSchema, result)
}
