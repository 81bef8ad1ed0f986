import type { ListMerchantRefundsRequest } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import type { ResourceFilter } from '../use-cases/list-resources.ts'

/** Maps the payment that restricts a list of refunds or chargebacks, if one does. */
export function paymentFilter(
  payment: ListMerchantRefundsRequest['payment'],
): Pick<ResourceFilter<string>, 'payment'> {
  if (payment.case === undefined) return {}
  return { payment: { by: payment.case === 'paymentCId' ? 'c_id' : 'h_id', id: payment.value } }
}
