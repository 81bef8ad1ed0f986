import type { Environment } from '#lib/contract/environment.ts'

/** A merchant in one environment: the owner of everything that support keeps. */
export interface MerchantScope {
  readonly merchant_id: string
  readonly environment: Environment
}

/** The payment that a resource of support is about. Its identifiers never change, so the resource stores them. */
export interface PaymentReference {
  readonly payment_id: string
  readonly c_id: string
  readonly h_id: string
}
