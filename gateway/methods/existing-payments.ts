import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { serviceId, text } from '../json/scalars.ts'
import { described, notApplicable, object, optional } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { PAYMENT_RESULT } from './payment-result.ts'
import { MERCHANT_REFERENCE, METHOD, optionalText, permittedScope } from './request-fields.ts'

/** The route in a request for an existing payment. It is accepted, but the route of the stored payment counts (E9). */
const IGNORED_SERVICE_ID = described(
  'Accepted, but has no effect: the route that the payment was created with counts.',
  optional(serviceId()),
)

/** The parameters of a request for an existing payment. If both identifiers are given, both must match the same payment (P16). */
const EXISTING_PAYMENT_PARAMS = object({
  payment: object({
    identifiers: object(
      {
        c_id: described('Your own reference.', optional(text(MERCHANT_REFERENCE))),
        h_id: described('Our identifier, from the response to `payment.in`.', optionalText({ max: 128 })),
        p_id: notApplicable(),
      },
      { at_least_one: ['c_id', 'h_id'] },
    ),
  }),
})

/** `payment.status`: shows a payment. It sees every earlier write, so it recovers a lost response to a create (P2). */
export const paymentStatus = defineMethod({
  name: 'payment.status',
  refusals: [6010],
  default_quota: 300_000,
  is_read: true,
  summary: 'Shows a payment and its status',
  description:
    'Give `c_id`, `h_id` or both; both must belong to the same payment. The response reflects everything that you have ' +
    'sent before.',
  example: { params: { payment: { identifiers: { c_id: 'order-1' } } } },
  request: object({
    method: METHOD,
    service_id: IGNORED_SERVICE_ID,
    operation_id: notApplicable(),
    params: EXISTING_PAYMENT_PARAMS,
  }),
  result: PAYMENT_RESULT.schema,
  result_components: PAYMENT_RESULT.components,
  createHandler({ clientOf }) {
    const payments = clientOf(PaymentService)
    return async ({ params }, caller, call) => {
      const { c_id, h_id } = params.payment.identifiers
      call.isAbout({ c_id, h_id })
      const { payment } = await payments.findPayment({ ...permittedScope(caller), cId: c_id, hId: h_id })
      return PAYMENT_RESULT.render(payment, call)
    }
  },
})

const OPERATION_ID =
  'An idempotency key; recommended. Reuse it only to repeat exactly the same request; another request with it is refused with ' +
  '1013, also when only the `service_id` differs. Without a key, equal requests within one minute of our clock (from second 0 ' +
  'to second 59) queue one callback.'

/** `payment.notification`: queues the callback of the payment's current status and answers as `payment.status` (P15). */
export const paymentNotification = defineMethod({
  name: 'payment.notification',
  refusals: [6010, 1013],
  default_quota: 10,
  summary: 'Sends the callback of a payment’s current status again',
  description:
    'Queues the callback and answers as `payment.status`, without waiting for the delivery. A status that has no event ' +
    'of its own is sent as `payment.created`. If the payment has no callback address, the response is 1003. With an ' +
    '`operation_id`, repeating exactly the same request queues nothing.',
  example: { operation_id: 'notify-order-1', params: { payment: { identifiers: { c_id: 'order-1' } } } },
  request: object({
    method: METHOD,
    service_id: IGNORED_SERVICE_ID,
    operation_id: described(OPERATION_ID, optionalText(MERCHANT_REFERENCE)),
    params: EXISTING_PAYMENT_PARAMS,
  }),
  result: PAYMENT_RESULT.schema,
  result_components: PAYMENT_RESULT.components,
  createHandler({ clientOf }) {
    const payments = clientOf(PaymentService)
    return async ({ operation_id, ...payload }, caller, call) => {
      const { c_id, h_id } = payload.params.payment.identifiers
      call.isAbout({ c_id, h_id })
      const { payment } = await payments.notifyPayment({
        ...permittedScope(caller),
        cId: c_id,
        hId: h_id,
        operationId: operation_id,
        payloadHash: payloadHash(payload),
      })
      return PAYMENT_RESULT.render(payment, call)
    }
  },
})
