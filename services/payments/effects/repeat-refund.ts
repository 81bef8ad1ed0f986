import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import type { Connector } from '../connectors/connector.ts'
import { asPaid, type Payment, type StoredPayment } from '../domain/payment.ts'
import type { Refund } from '../domain/refund.ts'
import { repeatRefundEffect } from '../domain/refund-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import { CALL_TRIES_MAX, LEASE_SLACK_MS, type ProviderCallDeps } from './provider-call.ts'
import { applyRefundResult, openRefund, refundBudget, sendRefund } from './refund-call.ts'
import { isWithinWindow } from './repeat-create.ts'

/** Repeated refunds in progress per account: a provider that hangs delays its own payments only. */
const REPEATS_PER_ACCOUNT_MAX = 128

/** Sends a refund again that the provider does not know, under the same key to the same account, while that is safe (P4). */
export function bindRepeatRefund(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(repeatRefundEffect, {
    lease_ms: deps.create_timeout_ms + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    budget: refundBudget(REPEATS_PER_ACCOUNT_MAX),
    run: ({ data }, payment) => repeat(deps, asPaid(payment), data.refund_id),
  })
}

async function repeat(
  deps: ProviderCallDeps,
  payment: Payment,
  refund_id: string,
): Promise<DocumentChange<Payment>> {
  const refund = openRefund(payment, refund_id)
  // One that a crash left behind may be of a refund that has ended since.
  if (!refund) return (current) => current
  const connected = deps.accountOf(payment)
  // The effect may have waited since the poll, for room or for a process.
  if (!mayRepeatRefund(refund, connected.connector, deps.create_timeout_ms)) return (current) => current
  const result = await sendRefund(deps, connected, payment, refund, { earlier_result_unknown: true })
  return applyRefundResult(refund, result, connected.schedule.first_ms)
}

/** Whether a repetition of the refund arrives within the connector's idempotency window, counted from the approval. */
export function mayRepeatRefund({ approved_at }: Refund, connector: Connector, timeout_ms: number): boolean {
  return approved_at !== undefined && isWithinWindow(approved_at, connector, timeout_ms)
}
