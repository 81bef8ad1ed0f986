import type { Environment as EnvironmentProto } from '#gen/multihub/common/v1/environment_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import type { MerchantScope } from '../domain/support-resource.ts'

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
