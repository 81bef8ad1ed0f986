import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import type { LedgerEntry } from '#gen/multihub/balances/v1/balance_pb.ts'
import type { HoldLimitsSchema, LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { type ErrorCode, isErrorCode } from '#lib/contract/errors/error-table.ts'
import type { PaymentRoute } from '../domain/payment-route.ts'

/** The ledger, as effects call it. It gives each id one result permanently, so a repeated call moves nothing. */
export type LedgerClient = Client<typeof LedgerService>

/** The time limit of one call. */
export const LEDGER_CALL = { timeoutMs: 3_000 }

/**
 * The limits of an effect that calls the ledger. Money must be posted soon after the ledger is back, so pauses are at most
 * 30 s. With 15 s on average, the ledger may be unavailable for half a day before the effect is stuck.
 */
export const LEDGER_EFFECT_LIMITS = {
  lease_ms: 5_000,
  tries_max: 3_000,
  backoff: { first_ms: 1_000, max_ms: 30_000 },
}

/**
 * The limits of an effect that places a hold. Its pauses are short, because a caller gets 2002 until the ledger has decided.
 * With 5 s on average, the ledger may be unavailable for half a day before the effect is stuck.
 */
export const HOLD_EFFECT_LIMITS = {
  ...LEDGER_EFFECT_LIMITS,
  tries_max: 10_000,
  backoff: { first_ms: 200, max_ms: 10_000 },
}

/** The code with which the ledger refused a hold; `undefined` when it placed the hold. */
export function refusalOfEntry(entry: Pick<LedgerEntry, 'refusedCode'> | undefined): ErrorCode | undefined {
  if (!entry) throw new TypeError('the ledger answered without an entry')
  const { refusedCode } = entry
  if (refusedCode === 0) return undefined
  if (!isErrorCode(refusedCode))
    throw new TypeError(`the ledger refused a hold with the unknown code ${refusedCode}`)
  return refusedCode
}

/** The limits by which the ledger decides about a withdrawal on this route. */
export function holdLimitsToProto({
  service_id,
  withdrawal_limits: limits,
}: PaymentRoute): MessageInitShape<typeof HoldLimitsSchema> {
  const { timezone, maximum, daily, monthly, since_settlement: sinceSettlement } = limits
  return { serviceId: service_id, timezone, maximum, daily, monthly, sinceSettlement }
}
