import { MerchantRefundService } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { digitAmount } from '../json/digit-amount.ts'
import { text } from '../json/scalars.ts'
import { described, object, optional } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { REFUND_COMPONENTS, REFUND_RESULT, toRefundResult } from './refund-result.ts'
import { MERCHANT_REFERENCE } from './request-fields.ts'
import { credentialPolicy, ownerOf, paymentIdentifierToProto } from './request-to-proto.ts'
import { paymentIdentifiers, SUPPORT_ENVELOPE } from './support-fields.ts'

/** The longest reason, in characters (S1). */
const REASON_MAX = 500

/** `refund.request`: asks for a deposit back, in whole or in part, once per `c_id` (S3, S8). */
export const refundRequest = defineMethod({
  name: 'refund.request',
  scope: 'refunds.create',
  default_quota: 10,
  summary: 'Requests a refund',
  description:
    'Reserves an amount of a successful deposit for a refund, which begins as `pending` and moves no money until the ' +
    'operator approves it. What remains of a payment is its amount less its completed refunds, its active refund and ' +
    'every chargeback that you have not won. Refusals in their order: 11003 for an amount of another form, 10001 for a ' +
    'payment that you do not have, 11002 for one that is not a successful deposit or of which nothing is left, 11005 ' +
    'while another refund of it is active, 11004 for more than remains. A payment has at most 100 refunds; one more is ' +
    '11002. The `c_id` is the idempotency key, permanently: repeating exactly the same request shows the refund as it ' +
    'is by then, another request with the same `c_id` is 1013.',
  example: {
    method: 'refund.request',
    params: {
      identifiers: { c_id: 'refund-1' },
      payment: { c_id: 'order-1' },
      amount: '50000',
      reason: 'The customer returned the goods.',
    },
  },
  request: object({
    ...SUPPORT_ENVELOPE,
    params: object({
      identifiers: object({ c_id: described('Your own reference.', text(MERCHANT_REFERENCE)) }),
      payment: paymentIdentifiers(),
      amount: described(
        'In minor units, as a text of digits; without it, all that remains of the payment.',
        optional(digitAmount(11003)),
      ),
      reason: described('Why; the operator reads it.', optional(text({ max: REASON_MAX }))),
    }),
  }),
  result: REFUND_RESULT,
  result_components: REFUND_COMPONENTS,
  createHandler({ clientOf }) {
    const support = clientOf(MerchantRefundService)
    return async ({ params }, caller) => {
      const { identifiers, ...payload } = params
      const { payment, amount, reason = '' } = payload
      const { refund } = await support.requestRefund({
        ...ownerOf(caller),
        policy: credentialPolicy(caller),
        cId: identifiers.c_id,
        payloadHash: payloadHash(payload),
        payment: paymentIdentifierToProto(payment),
        ...(amount === undefined ? {} : { amount }),
        reason,
      })
      return toRefundResult(refund)
    }
  },
})
