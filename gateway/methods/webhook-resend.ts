import type { Client } from '@connectrpc/connect'
import type { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { RESEND_BUCKET } from '#lib/contract/vocabulary.ts'
import { payloadHash } from '#lib/patterns/idempotency/canonical.ts'
import { text } from '../json/scalars.ts'
import { described, object } from '../json/schema.ts'
import { MERCHANT_REFERENCE } from './fields.ts'
import { defineMethod, type Method } from './method.ts'
import { policyOf } from './payment-calls.ts'

const REQUEST = object({
  payment_id: described('The h_id of the payment, the same as in the path.', text(MERCHANT_REFERENCE)),
  operation_id: described(
    'Reuse it only for an exact retry: with another payload it is 1013.',
    text(MERCHANT_REFERENCE),
  ),
})

/** The resend route: queues the callback of a payment that has ended once more (spec: Webhook resend). */
export function webhookResend(payments: Client<typeof PaymentService>): Method {
  return defineMethod({
    name: RESEND_BUCKET,
    scope: 'webhooks.update',
    schema: REQUEST,
    async handle({ operation_id, ...payload }, caller, path_id) {
      const { payment_id } = payload
      // The body names the payment once more; any other is a fault of content (P15).
      if (payment_id !== path_id) throw fieldError(9000, 'payment_id')
      const { deliveryIds: delivery_ids } = await payments.resendCallback({
        merchantId: caller.merchant_id,
        environment: environmentToProto(caller.environment),
        policy: policyOf(caller),
        hId: payment_id,
        operationId: operation_id,
        payloadHash: payloadHash(payload),
      })
      return { payment_id, operation_id, delivery_ids, status: 'queued' }
    },
  })
}
