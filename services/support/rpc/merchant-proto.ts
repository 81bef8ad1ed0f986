import type { Environment as EnvironmentProto } from '#gen/multihub/common/v1/environment_pb.ts'
import type { ListMerchantRefundsRequest } from '#gen/multihub/support/v1/merchant_refund_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import type { EnumMap } from '#lib/contract/proto-fields.ts'
import type { MerchantScope } from '../domain/support-resource.ts'
import type { ResourceFilter } from '../use-cases/list-resources.ts'
import type { StatusCounts } from '../use-cases/summarize.ts'

/** The merchant that a request acts for, as every request of the gateway names it. */
export interface ScopeFields {
  readonly merchantId: string
  readonly environment: EnvironmentProto
}

/** Maps the merchant and environment of a request. Throws 1005 without one of them. */
export function scopeFromProto({ merchantId, environment }: ScopeFields): MerchantScope {
  return {
    merchant_id: requiredId(merchantId, 'merchant_id'),
    environment: ENVIRONMENTS.required(environment, 'environment'),
  }
}

/** Maps the payment that restricts a list of refunds or chargebacks, if one does. */
export function paymentFilter(
  payment: ListMerchantRefundsRequest['payment'],
): Pick<ResourceFilter<string>, 'payment'> {
  if (payment.case === undefined) return {}
  return { payment: { by: payment.case === 'paymentCId' ? 'c_id' : 'h_id', id: payment.value } }
}

/** Maps a summary, with its statuses in the order of their declaration. */
export function summaryToProto<Status extends string, Proto extends number>(
  counts: StatusCounts<Status>,
  statuses: EnumMap<Status, Proto>,
): { readonly counts: { readonly status: Proto; readonly count: bigint }[] } {
  return {
    counts: statuses.names.map((status) => ({
      status: statuses.toProto(status),
      count: BigInt(counts[status]),
    })),
  }
}
