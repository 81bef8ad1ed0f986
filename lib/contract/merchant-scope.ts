import type { Environment as EnvironmentProto } from '#gen/multihub/common/v1/environment_pb.ts'
import { ENVIRONMENTS, type Environment } from './environment.ts'
import { requiredId } from './operator-fields.ts'

/** A merchant in one environment: the owner of most of what services keep. */
export interface MerchantScope {
  readonly merchant_id: string
  readonly environment: Environment
}

/** The same fields in messages. */
export interface ScopeFields {
  readonly merchantId: string
  readonly environment: EnvironmentProto
}

/** Maps the merchant and environment of a document. */
export function scopeToProto({ merchant_id, environment }: MerchantScope): ScopeFields {
  return { merchantId: merchant_id, environment: ENVIRONMENTS.toProto(environment) }
}

/** Maps the merchant and environment of a request. Throws 1005 without one of them, and 9000 for what neither can be. */
export function scopeFromProto({ merchantId, environment }: ScopeFields): MerchantScope {
  return {
    merchant_id: requiredId(merchantId, 'merchant_id'),
    environment: ENVIRONMENTS.required(environment, 'environment'),
  }
}
