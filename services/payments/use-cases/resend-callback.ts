import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  type ResendCallbackResponse,
  ResendCallbackResponseSchema,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { isSettled } from '../domain/transition-table.ts'
import { type LookUp, lookUpPayment } from './look-up.ts'
import { type NotifyParts, queuePresentEvent } from './notify-payment.ts'

/** A merchant's wish to get the callback of a payment's end again. */
export interface ResendRequest extends LookUp {
  readonly operation_id: string
  readonly payload_hash: string
}

/**
 * Queues the event of a payment that has ended and answers the fresh deliveries; an exact retry gets the same ids and
 * queues nothing (P15). Throws 8801 while the payment may still change, otherwise what `notifyPayment` throws.
 */
export async function resendCallback(
  parts: NotifyParts,
  request: ResendRequest,
): Promise<ResendCallbackResponse> {
  const payment = await lookUpPayment(parts.payments, request)
  const { merchant_id, environment, operation_id, payload_hash } = request
  const key = { merchant_id, environment, method: 'webhook.resend', key: operation_id }
  const result = await parts.idempotency.run(key, payload_hash, async (id) => {
    if (!isSettled(payment.state)) throw new PublicError(8801)
    const deliveryIds = [...(await queuePresentEvent(parts, payment, id))]
    return toBinary(ResendCallbackResponseSchema, create(ResendCallbackResponseSchema, { deliveryIds }))
  })
  return fromBinary(ResendCallbackResponseSchema, result)
}
