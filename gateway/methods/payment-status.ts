import type { Client } from '@connectrpc/connect'
import type { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { environmentToProto } from '#lib/environment.ts'
import { serviceId, text } from '../json/scalars.ts'
import { notApplicable, object, optional } from '../json/schema.ts'
import { MERCHANT_REFERENCE, METHOD, optionalText } from './fields.ts'
import { defineMethod, type Method } from './method.ts'
import { createResult, policyOf } from './payment-calls.ts'

/** Both identifiers together must match one payment (P16). A service_id is allowed, but the stored route counts. */
const REQUEST = object({
  method: METHOD,
  service_id: optional(serviceId()),
  operation_id: notApplicable(),
  params: object({
    payment: object({
      identifiers: object(
        { c_id: optional(text(MERCHANT_REFERENCE)), h_id: optionalText({ max: 128 }), p_id: notApplicable() },
        { at_least_one: ['c_id', 'h_id'] },
      ),
    }),
  }),
})

/** `payment.status`: how a payment stands. It reads its own merchant's writes, so it recovers a lost create (P2). */
export function paymentStatus(payments: Client<typeof PaymentService>): Method {
  return defineMethod({
    name: 'payment.status',
    schema: REQUEST,
    async handle({ params }, caller) {
      const { c_id, h_id } = params.payment.identifiers
      const { payment } = await payments.lookUpPayment({
        merchantId: caller.merchant_id,
        environment: environmentToProto(caller.environment),
        policy: policyOf(caller),
        cId: c_id,
        hId: h_id,
      })
      return createResult(payment, 'status')
    },
  })
}
