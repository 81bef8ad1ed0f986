import type { Client } from '@connectrpc/connect'
import type { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { notApplicable, object } from '../json/schema.ts'
import { METHOD } from './fields.ts'
import { defineMethod, type Method } from './method.ts'
import { createResult, NAMED_PAYMENT, policyOf, STORED_ROUTE } from './payment-calls.ts'

const REQUEST = object({
  method: METHOD,
  service_id: STORED_ROUTE,
  operation_id: notApplicable(),
  params: NAMED_PAYMENT,
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
