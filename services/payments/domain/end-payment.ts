import { completeRefund, failRefund } from './apply-refund-update.ts'
import { addLateLookup, addLateRefundLookup } from './late-lookup.ts'
import type { Payment } from './payment.ts'
import type { Refund } from './refund.ts'
import { transition } from './transition.ts'

/** The operator's decision on a payment or refund, by its id, and when it was made. */
export interface PaymentDecision {
  readonly decision: string
  readonly at: Date
  /** Whether the provider reports by itself what it decides later. */
  readonly sends_callbacks: boolean
  /** The earlier attempt that was paid, if it is not the current one. */
  readonly paid_attempt?: number | undefined
}

/**
 * Ends an open payment as the operator decides, by the same transition as the word of its provider, with the requested
 * amount. What the provider reports later may contradict it, and is an anomaly then (P7); a provider without callbacks
 * is asked for it. Pure. Throws for a final payment.
 */
export function endPayment(
  payment: Payment,
  status: 'success' | 'error',
  { decision, at, sends_callbacks, paid_attempt }: PaymentDecision,
): Payment {
  const ended = status === 'success' ? { at } : { at, error_code: 6044 as const }
  const decided = {
    ...transition(payment, status, ended),
    operator_decision: decision,
    ...(paid_attempt === undefined ? {} : { paid_attempt }),
  }
  return sends_callbacks ? decided : addLateLookup(decided, at)
}

/**
 * Ends an approved refund as the operator decides, like `endPayment`, with the same ledger entries and reports. Pure.
 */
export function endRefund(
  payment: Payment,
  refund: Refund,
  state: 'completed' | 'failed',
  { decision, at, sends_callbacks }: PaymentDecision,
): Payment {
  const decided = { ...refund, operator_decision: decision }
  const ended =
    state === 'completed' ? completeRefund(payment, decided, at) : failRefund(payment, decided, 6044, at)
  return sends_callbacks ? ended : addLateRefundLookup(ended, refund.refund_id, at)
}
