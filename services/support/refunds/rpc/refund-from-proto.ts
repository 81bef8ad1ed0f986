import type {
  RefundReference,
  RequestRefundRequest as RequestRefundRequestProto,
} from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { type OwnerFields, ownerFromProto } from '../../rpc/owner-from-proto.ts'
import type { RefundQuery } from '../store/refunds.ts'
import type { RequestRefundRequest } from '../use-cases/request-refund.ts'

/** Maps a question for a merchant's refund. Throws 1005 without an identifier. */
export function refundQueryFromProto(
  request: OwnerFields & { readonly refund?: RefundReference | undefined },
): RefundQuery {
  const { id } = request.refund ?? {}
  if (id?.case === undefined) throw fieldError(1005, 'refund')
  return { ...ownerFromProto(request), by: id.case === 'cId' ? 'c_id' : 'h_id', id: id.value }
}

/** Maps the request for a refund. Throws 1005 for a required field without a value. */
export function requestRefundRequestFromProto(request: RequestRefundRequestProto): RequestRefundRequest {
  const { policy, payment, amount, reason } = request
  if (payment.case === undefined) throw fieldError(1005, 'payment')
  return {
    ...ownerFromProto(request),
    policy: { service_ids: policy?.serviceIds ?? [], currencies: policy?.currencies ?? [] },
    c_id: requiredText(request.cId, 'c_id'),
    payload_hash: requiredText(request.payloadHash, 'payload_hash'),
    payment_by: payment.case === 'paymentCId' ? 'c_id' : 'h_id',
    payment_ref: payment.value,
    ...(amount === undefined ? {} : { amount }),
    reason,
  }
}
