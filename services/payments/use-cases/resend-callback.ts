import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  type ResendCallbackResponse,
  ResendCallbackResponseSchema,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { isFinal } from '#lib/contract/payment-status.ts'
import { findPayment, type PaymentQuery } from './find-payment.ts'
import { type NotificationDeps, queueStatusEvent } from './notify-payment.ts'

/** A merchant's request for another callback about the final status of a payment. */
export interface ResendCallbackRequest extends PaymentQuery {
  readonly operation_id: string
  /** The hash of the request without its `operation_id`. */
  readonly payload_hash: string
}

/**
 * The merchant's `webhook.resend`: queues the event of the final status again and returns the ids of the new
 * deliveries. An exact retry returns the same ids and queues nothing (P15). Throws 8801 while the status is not final,
 * otherwise the same as `notifyPayment`.
 */
export async function resendCallback(
  deps: NotificationDeps,
  request: ResendCallbackRequest,
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
