import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { CredentialPolicySchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { type Audience, operationObject, paymentObject } from '#lib/contract/public-payment/public-payment.ts'
import type { Caller } from '../auth/caller.ts'
import { serviceId, text } from '../json/scalars.ts'
import { described, notApplicable, object, optional } from '../json/schema.ts'
import { MERCHANT_REFERENCE, optionalText } from './fields.ts'

/** The route beside a payment that is there already: taken, and outweighed by the stored one (E9). */
export const STORED_ROUTE = described(
  'Taken, but the route that the payment was made with counts.',
  optional(serviceId()),
)

/** The parameters that name a payment; both identifiers together must match one (P16). */
export const NAMED_PAYMENT = object({
  payment: object({
    identifiers: object(
      {
        c_id: described('Your reference.', optional(text(MERCHANT_REFERENCE))),
        h_id: described('Ours, from the answer of the create.', optionalText({ max: 128 })),
        p_id: notApplicable(),
      },
      { at_least_one: ['c_id', 'h_id'] },
    ),
  }),
})

/** What the caller's credential may touch, for payments to judge by the route (E9). */
export function policyOf({
  application_id,
  service_ids,
  currencies,
}: Caller): MessageInitShape<typeof CredentialPolicySchema> {
  return { applicationId: application_id, serviceIds: [...service_ids], currencies: [...currencies] }
}

/** `{payment, operation}`: the payment and a shortcut to its primary operation (spec: Payment object). */
export function createResult(payment: Payment | undefined, audience: Audience): unknown {
  const primary = payment?.operations[0]
  if (payment === undefined || primary === undefined)
    throw new TypeError('payments answered without a payment or its operation')
  return { payment: paymentObject(payment, audience), operation: operationObject(primary) }
}
