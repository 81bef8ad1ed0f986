import type { Client } from '@connectrpc/connect'
import type { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { payloadHash } from '#lib/patterns/idempotency/canonical.ts'
import { described, object } from '../json/schema.ts'
import { MERCHANT_REFERENCE, METHOD, optionalText } from './fields.ts'
import { defineMethod, type Method } from './method.ts'
import { createResult, NAMED_PAYMENT, policyOf, STORED_ROUTE } from './payment-calls.ts'

const OPERATION =
  'Recommended. Reuse it only for an exact retry: with another payload it is 1013. Without it the same request is queued once a minute.'

const REQUEST = object({
  method: METHOD,
  service_id: STORED_ROUTE,
  operation_id: described(OPERATION, optionalText(MERCHANT_REFERENCE)),
  params: NAMED_PAYMENT,
})

/** `payment.notification`: queues the callback of the payment's present state, and answers as `payment.status` (P15). */
export function paymentNotification(payments: Client<typeof PaymentService>): Method {
  return defineMethod({
    name: 'payment.notification',
    schema: REQUEST,
    async handle({ operation_id, ...payload }, caller) {
      const { c_id, h_id } = payload.params.payment.identifiers
      const { payment } = await payments.notifyPayment({
        merchantId: caller.merchant_id,
        environment: environmentToProto(caller.environment),
        policy: policyOf(caller),
        cId: c_id,
        hId: h_id,
        operationId: operation_id,
        payloadHash: payloadHash(payload),
      })
      return createResult(payment, 'status')
    },
  })
}
