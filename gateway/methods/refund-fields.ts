import type { MessageInitShape } from '@bufbuild/protobuf'
import type { RefundReferenceSchema } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'

/** One identifier of a resource: exactly one of the fields has a value. */
interface Identifiers {
  readonly c_id?: string
  readonly h_id?: string
}

/** One identifier of a refund, as requests to support name it. */
export function refundReference({ c_id, h_id }: Identifiers): MessageInitShape<typeof RefundReferenceSchema> {
  return { id: c_id === undefined ? { case: 'hId', value: h_id ?? '' } : { case: 'cId', value: c_id } }
}

/** One identifier of a payment, as requests to support name it. */
export function paymentIdentifierToProto({ c_id, h_id = '' }: Identifiers) {
  return c_id === undefined
    ? ({ case: 'paymentHId', value: h_id } as const)
    : ({ case: 'paymentCId', value: c_id } as const)
}
