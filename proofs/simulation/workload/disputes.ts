import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { type PaymentRecord, recordKey } from './history.ts'
import type { SimulatedMerchant } from './merchants.ts'
import { recordResource, type SupportDeps } from './mutations.ts'

/** Each payment has few chargebacks, so that their requests are repeated. */
const CHARGEBACKS_PER_PAYMENT = 4

/** How the operator decides about a refund. */
const DECISIONS = [
  [6, 'approveRefund'],
  [1, 'rejectRefund'],
  [1, 'cancelRefund'],
] as const

/** Decides about a refund whose id is known. A refusal or a lost answer proves nothing. */
export async function decideRefund(
  { history, choices, operator }: SupportDeps,
  _merchant: SimulatedMerchant,
  payment: PaymentRecord,
): Promise<void> {
  const known = [...history.refunds.values()].filter(
    (refund) => refund.payment === payment && refund.h_id !== undefined,
  )
  if (known.length === 0) return
  // Mostly the last one, because earlier ones have ended.
  const { h_id: refundId = '' } = choices.chance(0.7) ? (known.at(-1) ?? {}) : choices.pick(known)
  await operator(RefundService)
    [choices.weighted(DECISIONS)]({ refundId })
    .catch(() => {})
}

/** Demands a chargeback, or repeats an earlier demand. */
export async function openChargeback(
  deps: SupportDeps,
  _merchant: SimulatedMerchant,
  payment: PaymentRecord,
): Promise<void> {
  const { history, choices, operator } = deps
  const { merchant_id, c_id, h_id: paymentId, currency } = payment
  if (paymentId === undefined) return
  if (choices.chance(OTHER_CURRENCY)) return demandOtherCurrency(deps, payment)
  const number = choices.integer(1, CHARGEBACKS_PER_PAYMENT)
  const operationId = `${paymentId}-${number}`
  payment.may_be_returned = true
  const minor = BigInt(amountOf(payment, number))
  await operator(ChargebackService)
    .openChargeback({ paymentId, amount: { minor, currency }, reasonCode: 'simulated', operationId })
    .then(
      ({ chargeback }) =>
        recordResource(history, chargebackName(merchant_id, c_id, number), chargeback?.chargebackId ?? ''),
      () => {},
    )
}

/** The share of demands for chargebacks in another currency than the payment's. */
const OTHER_CURRENCY = 0.1

/** Demands a chargeback in another currency, which is refused whatever the payment has left (S10). */
async function demandOtherCurrency(
  { history, operator }: SupportDeps,
  { c_id, currency, h_id: paymentId = '' }: PaymentRecord,
): Promise<void> {
  const amount = { minor: 1n, currency: currency === 'EUR' ? 'USD' : 'EUR' }
  await operator(ChargebackService)
    .openChargeback({
      paymentId,
      amount,
      reasonCode: 'simulated',
      operationId: `${paymentId}-${amount.currency}`,
    })
    .then(
      () => history.problems.push(`${c_id}: a chargeback in ${amount.currency} was accepted`),
      () => {},
    )
}

/** The amount follows from the number, so that a repetition is the same. The last one is for all of the payment. */
function amountOf({ amount }: PaymentRecord, number: number): number {
  return Math.max(1, Math.floor((amount * number) / CHARGEBACKS_PER_PAYMENT / (number % 2 === 0 ? 1 : 10)))
}

const STATUSES = [
  ChargebackStatus.UNDER_REVIEW,
  ChargebackStatus.WON,
  ChargebackStatus.WON,
  ChargebackStatus.LOST,
  ChargebackStatus.ACCEPTED,
] as const

/** Moves a chargeback whose id is known, sometimes in two directions at once. */
export async function moveChargeback(
  { history, choices, operator }: SupportDeps,
  _merchant: SimulatedMerchant,
  { merchant_id, c_id }: PaymentRecord,
): Promise<void> {
  const number = choices.integer(1, CHARGEBACKS_PER_PAYMENT)
  const chargebackId = history.support.get(chargebackName(merchant_id, c_id, number))
  if (chargebackId === undefined) return
  const move = () =>
    operator(ChargebackService)
      .moveChargeback({ chargebackId, status: choices.pick(STATUSES) })
      .catch(() => {})
  await Promise.all(choices.chance(0.2) ? [move(), move()] : [move()])
}

/** How much the operator takes at once, far more than a few deposits. */
const CORRECTION = 3_000_000n
const CORRECTIONS_MAX = 2

/** Takes funds of the merchant by a correction, also below zero, so that refunds of that currency find none (B2). */
export async function takeFunds(
  { history, choices, operator }: SupportDeps,
  { environment }: SimulatedMerchant,
  { merchant_id: merchantId, currency }: PaymentRecord,
): Promise<void> {
  // Withdrawals of this currency are judged by their limits, which need funds.
  if (currency === 'INR') return
  const operationId = `take-${currency}-${choices.integer(1, CORRECTIONS_MAX)}`
  history.taken.set(`${recordKey(merchantId, currency)} ${operationId}`, Number(CORRECTION))
  const amount = { minor: -CORRECTION, currency }
  const common = { merchantId, environment, currency, reason: 'simulated' }
  await operator(BalanceService)
    .adjust({ ...common, amount, operationId })
    .catch(() => {})
}

function chargebackName(merchant_id: string, c_id: string, number: number): string {
  return recordKey(merchant_id, `chargeback ${c_id} ${number}`)
}
