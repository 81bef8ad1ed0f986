import type { Environment } from '#lib/contract/environment.ts'

const ANOMALY_KINDS = ['contradicts_final_status', 'amount_differs', 'success_of_earlier_attempt'] as const

/** Why a provider update was not applied (P7). */
export type AnomalyKind = (typeof ANOMALY_KINDS)[number]

/** The check of a stored kind. */
export function isAnomalyKind(value: unknown): value is AnomalyKind {
  return ANOMALY_KINDS.some((kind) => kind === value)
}

/** A provider update that was not applied and waits for the operator. */
export interface Anomaly {
  readonly merchant_id: string
  readonly anomaly_id: string
  readonly environment: Environment
  readonly payment_id: string
  readonly kind: AnomalyKind
  readonly description: string
  readonly created_at: Date
}
