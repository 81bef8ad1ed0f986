import { now } from '#lib/base/time.ts'
import { type Budget, createKeyedBudget } from '#lib/patterns/effects/budget.ts'
import type { DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import type { ConnectedAccount } from '../connectors/connect-account.ts'
import { applyRefundNotFoundUpdate, applyRefundUpdate } from '../domain/apply-refund-update.ts'
import type { CallResult, LookupResult } from '../domain/call-result.ts'
import { asPaid, attemptKey, type Payment } from '../domain/payment.ts'
import { findRefund, type Refund, refundKey } from '../domain/refund.ts'
import { LOOKUP_TIMEOUT_MS, type ProviderCallDeps } from './provider-call.ts'

/** A budget of `max_per_account` calls at once for each account that deposits were paid at. */
export function refundBudget(max_per_account: number): Budget<Payment> {
  return createKeyedBudget(max_per_account, (payment) => asPaid(payment).attempt.account_id)
}

/** The refund while its provider may decide about it; `undefined` before its approval and after its end. */
export function openRefund(payment: Payment, refund_id: string): Refund | undefined {
  const refund = findRefund(payment, refund_id)
  return refund?.state === 'approved' ? refund : undefined
}

/**
 * Sends the refund to the account of the attempt, see `asPaid`. `earlier_result_unknown` tells the connector that the key may
 * have been sent before, with an unknown result.
 */
export function sendRefund(
  deps: ProviderCallDeps,
  { connector }: ConnectedAccount,
  payment: Payment,
  { refund_id, amount }: Refund,
  { earlier_result_unknown }: { readonly earlier_result_unknown: boolean },
): Promise<CallResult> {
  const order = {
    kind: 'refund',
    idempotency_key: refundKey(payment, refund_id),
    deposit_idempotency_key: attemptKey(payment),
    amount: { minor: amount, currency: payment.currency },
    method: payment.method,
    callback_url: deps.providerCallbackUrl(payment),
    earlier_result_unknown,
  } as const
  return connector.create(order, deps.create_timeout_ms, deps.stopping)
}

/** Asks the provider for the status of the refund. */
export function lookUpRefund(
  { stopping }: ProviderCallDeps,
  { connector }: ConnectedAccount,
  payment: Payment,
  { refund_id }: Refund,
): Promise<LookupResult> {
  const idempotency_key = refundKey(payment, refund_id)
  return connector.lookUp({ kind: 'refund', idempotency_key }, LOOKUP_TIMEOUT_MS, stopping)
}

/** The change that applies a result. If nothing polls the provider yet, the first poll is after `poll_ms`. */
export function applyRefundResult(
  { refund_id }: Pick<Refund, 'refund_id'>,
  result: CallResult,
  poll_ms: number,
): DocumentChange<Payment> {
  const at = now()
  const poll_at = new Date(at.getTime() + poll_ms)
  return (current) => applyRefundUpdate(current, { refund_id, result, at, poll_at })
}

/** The change after a lookup that did not find the refund. */
export function applyRefundNotFound({ refund_id }: Refund, may_repeat: boolean): DocumentChange<Payment> {
  const at = now()
  return (current) => applyRefundNotFoundUpdate(current, { refund_id, may_repeat, at })
}
