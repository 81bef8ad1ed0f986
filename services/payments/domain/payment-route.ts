import type { Direction } from '#lib/contract/direction.ts'
import type { Environment } from '#lib/contract/environment.ts'

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
  readonly enabled: boolean
}
