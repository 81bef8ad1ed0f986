import type { Environment } from '#lib/contract/environment.ts'

/** Why a provider update was not applied (P7). */
export type AnomalyKind = 'contradicts_final_status' | 'amount_differs' | 'success_of_earlier_attempt'

/** A provider update that was not applied and waits for the operator. */
export interface Anomaly {
  readonly merchant_id: string
  readonly anomaly_id: string
  readonly environment: Environment
  readonly payment_id: string
  readonly kind: string
  readonly description: string
  readonly created_at: Date
}
