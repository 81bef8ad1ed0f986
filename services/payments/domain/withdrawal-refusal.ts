import type { Environment } from '#lib/contract/environment.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { RefusedWithdrawal } from './payment.ts'

/** The record of a withdrawal that the ledger refused. The withdrawal itself is deleted (P3). It has no bank data. */
export interface WithdrawalRefusal {
  readonly merchant_id: string
  readonly payment_id: string
  readonly environment: Environment
  readonly c_id: string
  readonly service_id: string
  readonly amount: bigint
  readonly currency: string
  readonly error_code: ErrorCode
  readonly created_at: Date
  readonly refused_at: Date
}

/** Makes the record of a refused withdrawal. */
export function refusalOf(refused: RefusedWithdrawal): WithdrawalRefusal {
  const { merchant_id, payment_id, environment, c_id, service_id, amount, currency, error_code } = refused
  const { created_at, updated_at: refused_at } = refused
  return {
    merchant_id,
    payment_id,
    environment,
    c_id,
    service_id,
    amount,
    currency,
    error_code,
    created_at,
    refused_at,
  }
}
