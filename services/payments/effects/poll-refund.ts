import { randomFraction } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import { pollIntervalMs } from '../connectors/poll-schedule.ts'
import { asPaid, isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'
import { pollRefundEffect } from '../domain/refund-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import type { ProviderCallDeps } from './provider-call.ts'
import {
  applyRefundNotFound,
  applyRefundResult,
  lookUpRefund,
  openRefund,
  refundBudget,
} from './refund-call.ts'
import { mayRepeatRefund } from './repeat-refund.ts'

/** Polls in progress per account: a provider that hangs delays its own payments only. */
const POLLS_PER_ACCOUNT_MAX = 128

/** Asks the provider for the status of a refund in growing intervals, until the refund has ended. */
export function bindPollRefund(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(pollRefundEffect, {
    lease_ms(payment) {
      const age_ms = now().getTime() - approvedAt(payment).getTime()
      return pollIntervalMs(deps.scheduleOf(asPaid(payment)), age_ms, randomFraction())
    },
    repeats: true,
    // A failed poll, such as one of an account that is no longer configured, is repeated until the operator has mended it.
    tries_max: Number.POSITIVE_INFINITY,
    budget: refundBudget(POLLS_PER_ACCOUNT_MAX),
    run: ({ data }, payment) => poll(deps, asPaid(payment), data.refund_id),
  })
}

/** When the refund that is polled was approved. A payment has one at a time (S8). */
function approvedAt(payment: StoredPayment): Date {
  const refunds = isAdmitted(payment) ? (payment.refunds ?? []) : []
  return refunds.find(({ state }) => state === 'approved')?.approved_at ?? payment.updated_at
}

async function poll(
  deps: ProviderCallDeps,
  payment: Payment,
  refund_id: string,
): Promise<DocumentChange<Payment>> {
  const refund = openRefund(payment, refund_id)
  if (!refund) return (current) => current
  const connected = deps.accountOf(payment)
  const lookup = await lookUpRefund(deps, connected, payment, refund)
  if (lookup.kind !== 'not_found') return applyRefundResult(refund, lookup, connected.schedule.first_ms)
  return applyRefundNotFound(refund, mayRepeatRefund(refund, connected.connector, deps.create_timeout_ms))
}
