import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { LedgerAccount } from '#gen/multihub/balances/v1/balance_pb.ts'
import {
  type HoldLimitsSchema,
  HoldResolution,
  type LedgerService,
} from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { type ErrorCode, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { addAnomaly, newLedgerRefusalAnomaly } from '../domain/anomaly.ts'
import { applyHoldDecision } from '../domain/hold-decision.ts'
import { OPERATION_RULES, operationOf, type Posting, reasonOfEnd } from '../domain/operation.ts'
import { type Payment, type PaymentRoute, requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import { type EntryData, holdFundsEffect, postEntryEffect } from '../domain/payment-effects.ts'
import { requireChargeback, requireRefund } from '../domain/refund.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

/** The ledger, as effects call it. It gives each id one result permanently, so a repeated call moves nothing. */
export type LedgerClient = Client<typeof LedgerService>

/** The time limit of one call. */
export const LEDGER_CALL = { timeoutMs: 3_000 }

/**
 * The limits of an effect that posts an entry. Money must be posted soon after the ledger is back, so pauses are at most
 * 30 s. However long the ledger cannot decide, such as while a shard is stopped (B4.4), the effect is not stuck: the ledger
 * is mended in one place, and what waits is late with an alert. Only a refusal makes it stuck.
 */
const ENTRY_LIMITS = {
  onRefusal,
  lease_ms: 5_000,
  tries_max: Number.POSITIVE_INFINITY,
  backoff: { first_ms: 1_000, max_ms: 30_000 },
}

/** The limits of an effect that places a hold. Its pauses are short, because a caller gets 2002 until the ledger has decided. */
const HOLD_LIMITS = {
  ...ENTRY_LIMITS,
  backoff: { first_ms: 200, max_ms: 10_000 },
}

/**
 * What follows when the ledger refuses an entry and would refuse it again, such as 1013 for an id that belongs to another
 * entry: the effect is stuck at once, and the operator gets an anomaly, also about a withdrawal that is not admitted.
 */
function onRefusal(error: unknown, entry: Effect): ((payment: StoredPayment) => StoredPayment) | undefined {
  if (!(error instanceof PublicError) || REPEATABLE_CODES.includes(error.code)) return undefined
  const { code } = error
  const at = now()
  return (payment) => addAnomaly(payment, newLedgerRefusalAnomaly(payment, { entry, code, at }))
}

/** A fault, and a ledger that cannot be reached: the next try may succeed. */
const REPEATABLE_CODES: readonly ErrorCode[] = [2001, 2002]

/** What placing a hold needs. */
export interface HoldFundsDeps {
  readonly ledger: LedgerClient
  findRoute(service_id: string): Promise<PaymentRoute | undefined>
}

/**
 * Places the hold of a withdrawal or a refund. The ledger decides about funds and limits in one step and permanently (P14,
 * S9), so a try that follows one with an unknown result gets the decision of that one, also when the operator has changed a
 * limit.
 */
export function bindHoldFunds({ ledger, findRoute }: HoldFundsDeps): BoundEffect<StoredPayment> {
  const limitsOf = async ({ service_id }: StoredPayment) => {
    const route = await findRoute(service_id)
    if (!route) throw new Error(`the route ${service_id} is unknown`)
    return holdLimitsToProto(route)
  }
  return holdFundsEffect.bind<StoredPayment>({
    ...HOLD_LIMITS,
    async run({ data: { hold_id, refund_id } }, payment) {
      const kind = refund_id === undefined ? 'withdrawal' : 'refund'
      const { amount: minor } =
        refund_id === undefined ? payment : requireRefund(requireAdmitted(payment), refund_id)
      const limits = OPERATION_RULES[kind].hold === 'within_limits' ? await limitsOf(payment) : undefined
      const { entry } = await ledger.placeHold(
        {
          ...scopeToProto(payment),
          holdId: hold_id,
          amount: { minor, currency: payment.currency },
          paymentId: payment.payment_id,
          reason: kind,
          limits,
        },
        LEDGER_CALL,
      )
      if (!entry) throw new TypeError('the ledger answered without an entry')
      const refused_code = entry.refusedCode === 0 ? undefined : refusedCodeOf(entry.refusedCode)
      const decision = { hold_id, refund_id, refused_code }
      const at = now()
      return (current) => applyHoldDecision(current, decision, at)
    },
  })
}

/** A code with which the ledger refuses, as one of the error table. */
export function refusedCodeOf(code: number): ErrorCode {
  if (!isErrorCode(code)) throw new TypeError(`the ledger refuses with the unknown code ${code}`)
  return code
}

/** The accounts between which an entry moves an amount, or the end that it gives to a hold. */
const ENTRIES = {
  credit: { debit: LedgerAccount.CLEARING, credit: LedgerAccount.AVAILABLE, reason: 'deposit' },
  // The ledger never refuses a chargeback: the balance can become negative (B2).
  debit: { debit: LedgerAccount.AVAILABLE, credit: LedgerAccount.CHARGEBACKS, reason: 'chargeback' },
  return: { debit: LedgerAccount.CHARGEBACKS, credit: LedgerAccount.AVAILABLE, reason: 'chargeback won' },
  capture: { resolution: HoldResolution.CAPTURE },
  // The ledger also takes the amount of a failed withdrawal off the totals of the payout limits (P14).
  release: { resolution: HoldResolution.RELEASE },
} as const satisfies Readonly<Record<Posting, object>>

/** Posts the entry of an operation that has ended, or of a chargeback. */
export function bindPostEntry(ledger: LedgerClient): BoundEffect<StoredPayment> {
  return bindPaymentEffect(postEntryEffect, {
    ...ENTRY_LIMITS,
    async run({ id, data }, payment) {
      const entry = ENTRIES[data.posting]
      const scope = scopeToProto(payment)
      if ('resolution' in entry) {
        await ledger.resolveHold({ ...scope, ...entry, ...holdOf(payment, data) }, LEDGER_CALL)
      } else {
        const { payment_id: paymentId, currency } = payment
        const { chargeback_id } = data
        const minor =
          chargeback_id === undefined ? payment.amount : requireChargeback(payment, chargeback_id).amount
        const amount = { minor, currency }
        await ledger.postTransfer({ ...scope, ...entry, transferId: id, amount, paymentId }, LEDGER_CALL)
      }
      return (current) => current
    },
  })
}

function holdOf(payment: Payment, { refund_id, posting }: EntryData): { holdId: string; reason: string } {
  const operation = operationOf(payment, refund_id)
  const { kind, hold_id: holdId } = operation
  if (holdId === undefined) throw new TypeError(`a ${kind} without a hold cannot end one`)
  return { holdId, reason: reasonOfEnd(operation, posting) }
}

/** The limits by which the ledger decides about a withdrawal on this route. */
export function holdLimitsToProto({
  service_id,
  withdrawal_limits: limits,
}: PaymentRoute): MessageInitShape<typeof HoldLimitsSchema> {
  const { timezone, maximum, daily, monthly, since_settlement: sinceSettlement } = limits
  return { serviceId: service_id, timezone, maximum, daily, monthly, sinceSettlement }
}
