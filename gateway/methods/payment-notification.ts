import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { described, object } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { PAYMENT_COMPONENTS, PAYMENT_RESULT, toPaymentResult } from './payment-result.ts'
import {
  EXISTING_PAYMENT_PARAMS,
  IGNORED_SERVICE_ID,
  MERCHANT_REFERENCE,
  METHOD,
  optionalText,
} from './request-fields.ts'
import { credentialPolicy, ownerOf } from './request-to-proto.ts'

const OPERATION_ID =
  'An idempotency key; recommended. Reuse it only to repeat exactly the same request; with another request it is 1013, ' +
  'also when only the `service_id` differs. Without a key, equal requests within one minute of our clock (from second 0 ' +
  'to second 59) queue one callback.'

/** `payment.notification`: queues the callback of the payment's current status and answers as `payment.status` (P15). */
export const paymentNotification = defineMethod({
  name: 'payment.notification',
  default_quota: 10,
  summary: 'Sends the callback of a payment’s current status again',
  description:
    'Queues the callback and answers as `payment.status`, without waiting for the delivery. A status that has no event ' +
    'of its own is sent as `payment.created`. If the payment has no callback address, the response is 1003. With an ' +
    '`operation_id`, repeating exactly the same request queues nothing.',
  example: {
    method: 'payment.notification',
    operation_id: 'notify-order-1',
    params: { payment: { identifiers: { c_id: 'order-1' } } },
  },
  request: object({
    method: METHOD,
    service_id: IGNORED_SERVICE_ID,
    operation_id: described(OPERATION_ID, optionalText(MERCHANT_REFERENCE)),
    params: EXISTING_PAYMENT_PARAMS,
  }),
  result: PAYMENT_RESULT,
  result_components: PAYMENT_COMPONENTS,
  createHandler({ clientOf }) {
    const payments = clientOf(PaymentService)
    return async ({ operation_id, ...payload }, caller) => {
      const { c_id, h_id } = payload.params.payment.identifiers
      const { payment } = await payments.notifyPayment({
        ...ownerOf(caller),
        policy: credentialPolicy(caller),
        cId: c_id,
        hId: h_id,
        operationId: operation_id,
        payloadHash: payloadHash(payload),
      })
      return toPaymentResult(payment, 'status')
    }
  },
})
