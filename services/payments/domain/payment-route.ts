import type { Direction } from '#lib/contract/direction.ts'
import type { Environment } from '#lib/contract/environment.ts'

/** The limits of a route's withdrawals (P14), in minor units; 0 means no limit. The ledger decides by them. */
export interface WithdrawalLimits {
  /** The IANA name of the timezone in which days and months begin. */
  readonly timezone: string
  readonly maximum: bigint
  readonly daily: bigint
  readonly monthly: bigint
  readonly since_settlement: bigint
}

/** The fields of a route that its payments need. */
export interface PaymentRoute {
  readonly service_id: string
  readonly merchant_id: string
  readonly environment: Environment
  readonly direction: Direction
  readonly method: string
  readonly currency: string
  readonly connector: string
  readonly provider_accounts: readonly string[]
  readonly numeric_h_id: boolean
  readonly expires_in_seconds: number
  readonly minimum_amount: bigint
  readonly withdrawal_limits: WithdrawalLimits
  readonly enabled: boolean
}
