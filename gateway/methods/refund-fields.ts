import type { MessageInitShape } from '@bufbuild/protobuf'
import type { RefundReferenceSchema } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { text } from '../json/scalars.ts'
import { described, object, optional, type Schema } from '../json/schema.ts'
import { MERCHANT_REFERENCE } from './request-fields.ts'

/** One identifier of a resource: exactly one of the fields has a value. */
export type Identifiers = {
  readonly c_id?: string
  readonly h_id?: string
}

/** The payment of a refund, by exactly one of its identifiers. The `h_id` of a payment is not always a UUID (P1). */
export function paymentIdentifiers(): Schema<Identifiers, 'required'> {
  return object(
    {
      c_id: described('Your own reference of the payment.', optional(text(MERCHANT_REFERENCE))),
      h_id: described('The `h_id` of the payment.', optional(text({ max: 128 }))),
    },
    { exactly_one: ['c_id', 'h_id'] },
  )
}

/** One identifier of a refund, as requests to support name it. */
export function refundReference({ c_id, h_id }: Identifiers): MessageInitShape<typeof RefundReferenceSchema> {
  return { id: c_id === undefined ? { case: 'hId', value: h_id ?? '' } : { case: 'cId', value: c_id } }
}
