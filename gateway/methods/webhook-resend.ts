import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { RESEND_METHOD } from '#lib/contract/methods.ts'
import { record } from '#lib/contract/view.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { text } from '../json/scalars.ts'
import { described, object } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { MERCHANT_REFERENCE, permittedScope } from './request-fields.ts'

/** The resend path: queues the callback of a payment with a final status once more (spec: Webhook resend). */
export const webhookResend = defineMethod({
  name: RESEND_METHOD,
  refusals: [6010, 8801, 1013],
  scope: 'webhooks.update',
  default_quota: 10,
  summary: 'Sends the callback of a finished payment again',
  description:
    'Needs the scope `webhooks.update`. If the status of the payment is not final, the response is 8801; if the payment ' +
    'has no callback address, the response is 1003. Each delivery gets a new `X-Webhook-Id`; the `id` in the body stays the same. ' +
    'Repeating exactly the same request queues nothing.',
  example: { payment_id: '0199c0de-0000-7000-8000-000000000001', operation_id: 'resend-order-1' },
  request: object({
    payment_id: described('The `h_id` of the payment, the same as in the path.', text(MERCHANT_REFERENCE)),
    operation_id: described(
      'An idempotency key. Reuse it only to repeat exactly the same request; another request with it is refused with 1013.',
      text(MERCHANT_REFERENCE),
    ),
  }),
  result: record({
    payment_id: { type: 'string' },
    operation_id: { type: 'string' },
    delivery_ids: {
      type: 'array',
      items: { type: 'string', description: 'The `X-Webhook-Id` of a queued delivery.' },
    },
    status: { type: 'string', const: 'queued' },
  }),
  createHandler({ clientOf }) {
    const payments = clientOf(PaymentService)
    return async ({ operation_id, ...payload }, caller, { path_id, isAbout }) => {
      const { payment_id } = payload
      isAbout({ h_id: payment_id })
      // The body repeats the id of the path; another id is 9000 (P15).
      if (payment_id !== path_id) throw fieldError(9000, 'payment_id')
      const { deliveryIds: delivery_ids } = await payments.resendCallback({
        ...permittedScope(caller),
        hId: payment_id,
        operationId: operation_id,
        payloadHash: payloadHash(payload),
      })
      return { payment_id, operation_id, delivery_ids, status: 'queued' }
    }
  },
})
