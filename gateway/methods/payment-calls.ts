import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { CredentialPolicySchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { type Audience, operationObject, paymentObject } from '#lib/projection/payment.ts'
import type { Caller } from '../auth/caller.ts'

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
