import { isPaid, type Operation } from './operation.ts'
import type { Order } from './order.ts'
import { refundScenario, refusedScenario, type Scenario } from './scenario.ts'

/** An order that pays a deposit back, in whole or in part. */
export type RefundOrder = Extract<Order, { kind: 'refund' }>

/** The decision on a refund. `deposit` is the deposit that must be stored first; absent when it does not change. */
interface RefundDecision {
  readonly scenario: Scenario
  readonly deposit?: Operation
}

/** Bounds the size of a deposit. One more refund is refused. */
const REFUNDS_MAX = 1_000

/**
 * Decides on a refund. Refuses one of no deposit (6010), of an unpaid one (8801), in another currency (6002), or that
 * exceeds what earlier refunds have left of the deposit (6001). A refund that the digits make fail takes nothing.
 * `undefined` when the key names another refund. Pure.
 */
export function decideRefund(
  deposit: Operation | undefined,
  order: RefundOrder,
  at: Date,
): RefundDecision | undefined {
  if (deposit?.kind !== 'deposit') return refused(6010)
  if (!isPaid(deposit, at)) return refused(8801)
  if (order.currency !== deposit.currency) return refused(6002)
  const { idempotency_key, amount } = order
  const { refunds = [] } = deposit
  const scenario = refundScenario(deposit.amount)
  const accepted = refunds.find((refund) => refund.idempotency_key === idempotency_key)
  if (accepted) return accepted.amount === amount ? { scenario } : undefined
  const refunded = refunds.reduce((sum, refund) => sum + refund.amount, 0n)
  if (refunded + amount > deposit.amount || refunds.length === REFUNDS_MAX) return refused(6001)
  if (scenario.result.status !== 'success') return { scenario }
  return { scenario, deposit: { ...deposit, refunds: [...refunds, { idempotency_key, amount }] } }
}

function refused(code: number): RefundDecision {
  return { scenario: refusedScenario(code) }
}
