import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { notApplicable, object } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { PAYMENT_COMPONENTS, PAYMENT_RESULT, toPaymentResult } from './payment-result.ts'
import { EXISTING_PAYMENT_PARAMS, IGNORED_SERVICE_ID, METHOD } from './request-fields.ts'
import { credentialPolicy, ownerOf } from './request-to-proto.ts'

/** `payment.status`: shows a payment. It sees every earlier write, so it recovers a lost response to a create (P2). */
export const paymentStatus = defineMethod({
  name: 'payment.status',
  default_quota: 300_000,
  is_read: true,
  summary: 'Shows a payment and its status',
  description:
    'Give `c_id`, `h_id` or both; both must belong to the same payment. The response reflects everything that you have ' +
    'sent before.',
  example: { method: 'payment.status', params: { payment: { identifiers: { c_id: 'order-1' } } } },
  request: object({
    method: METHOD,
    service_id: IGNORED_SERVICE_ID,
    operation_id: notApplicable(),
    params: EXISTING_PAYMENT_PARAMS,
  }),
  result: PAYMENT_RESULT,
  result_components: PAYMENT_COMPONENTS,
  createHandler({ clientOf }) {
    const payments = clientOf(PaymentService)
    return async ({ params }, caller) => {
      const { c_id, h_id } = params.payment.identifiers
      const { payment } = await payments.findPayment({
        ...ownerOf(caller),
        policy: credentialPolicy(caller),
        cId: c_id,
        hId: h_id,
      })
      return toPaymentResult(payment, 'status')
    }
  },
})
