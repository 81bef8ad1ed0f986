import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import type { CallResult } from '../domain/call-result.ts'
import { asPaid, type Payment, type StoredPayment } from '../domain/payment.ts'
import { createRefundEffect } from '../domain/refund-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import { CALL_TRIES_MAX, LEASE_SLACK_MS, type ProviderCallDeps } from './provider-call.ts'
import { applyRefundResult, openRefund, refundBudget, sendRefund } from './refund-call.ts'

/** Refunds in progress per account. Further ones wait for room. */
const REFUNDS_PER_ACCOUNT_MAX = 128

/**
 * Sends a refund to its provider, once. After a try that did not end, the poll asks the provider (P4). Only
 * `repeatRefundEffect` may send it again, within the connector's `idempotency_window_ms`.
 */
export function bindCreateRefund(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(createRefundEffect, {
    lease_ms: deps.create_timeout_ms + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    budget: refundBudget(REFUNDS_PER_ACCOUNT_MAX),
    run: ({ tries, data }, payment) => createOnce(deps, tries, asPaid(payment), data.refund_id),
  })
}

async function createOnce(
  deps: ProviderCallDeps,
  tries: number,
  payment: Payment,
  refund_id: string,
): Promise<DocumentChange<Payment>> {
  const refund = openRefund(payment, refund_id)
  if (!refund) return (current) => current
  if (tries > 1)
    return applyRefundResult(
      refund,
      { kind: 'unknown', reason: 'an earlier try may have sent the request' },
      0,
    )
  const connected = deps.accountOf(payment)
  const sent = await sendRefund(deps, connected, payment, refund, { earlier_result_unknown: false })
  // A request that this process did not send because it stops says nothing about the account. As `not_sent` it would fail
  // the refund; as `unknown` it lets a poll of another process go on.
  const result: CallResult =
    sent.kind === 'not_sent' && deps.stopping.aborted ? { ...sent, kind: 'unknown' } : sent
  return applyRefundResult(refund, result, connected.schedule.first_ms)
}
