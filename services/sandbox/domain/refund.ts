import { isPaid, type Operation } from './operation.ts'
import type { Order } from './order.ts'
import { refundScenario, refusedScenario, type Scenario } from './scenario.ts'

/** An order that pays a deposit back, in whole or in part. */
export type RefundOrder = Extract<Order, { kind: 'refund' }>

/** The decision on a refund. `deposit` is the deposit that must be stored first; absent when it does not change. */
export type RefundDecision =
  | { readonly kind: 'decided'; readonly scenario: Scenario; readonly deposit?: Operation }
  | { readonly kind: 'key_conflict' }

/** Bounds the size of a deposit. One more refund is refused. */
const REFUNDS_MAX = 1_000

/**
 * Decides on a refund. Refuses one of no deposit (6010), of an unpaid one (8801), in another currency (6002), or that
 * exceeds what earlier refunds have left of the deposit (6001). A refund that the digits make fail takes nothing. Pure.
 */
export function decideRefund(deposit: Operation | undefined, order: RefundOrder, at: Date): RefundDecision {
  if (deposit?.kind !== 'deposit') return refused(6010)
  if (!isPaid(deposit, at)) return refused(8801)
  if (order.currency !== deposit.currency) return refused(6002)
  const { idempotency_key, amount } = order
  const { refunds = [] } = deposit
  const scenario = refundScenario(deposit.amount)
  const accepted = refunds.find((refund) => refund.idempotency_key === idempotency_key)
  if (accepted) return accepted.amount === amount ? { kind: 'decided', scenario } : { kind: 'key_conflict' }
  const refunded = refunds.reduce((sum, refund) => sum + refund.amount, 0n)
  if (refunded + amount > deposit.amount || refunds.length === REFUNDS_MAX) return refused(6001)
  if (scenario.result.status !== 'success') return { kind: 'decided', scenario }
  return {
    kind: 'decided',
    scenario,
    deposit: { ...deposit, refunds: [...refunds, { idempotency_key, amount }] },
  }
}

function refused(code: number): RefundDecision {
  return { kind: 'decided', scenario: refusedScenario(code) }
}
