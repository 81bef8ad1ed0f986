import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { ListMerchantRefundsRequest } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import type { ResourceFilter } from '../use-cases/list-resources.ts'

/** Maps the bounds of the creation, each of which may be absent. */
export function createdRange({
  createdFrom,
  createdTo,
}: {
  readonly createdFrom?: Timestamp | undefined
  readonly createdTo?: Timestamp | undefined
}): { readonly created_from?: Date; readonly created_to?: Date } {
  return {
    ...(createdFrom ? { created_from: timestampDate(createdFrom) } : {}),
    ...(createdTo ? { created_to: timestampDate(createdTo) } : {}),
  }
}

/** Maps the payment that restricts a list of refunds or chargebacks, if one does. */
export function paymentFilter(
  payment: ListMerchantRefundsRequest['payment'],
): Pick<ResourceFilter<string>, 'payment'> {
  if (payment.case === undefined) return {}
  return { payment: { by: payment.case === 'paymentCId' ? 'c_id' : 'h_id', id: payment.value } }
}
