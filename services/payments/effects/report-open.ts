import { now } from '#lib/base/time.ts'
import { isFinal } from '#lib/contract/payment-status.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { addAnomaly, newOpenTooLongAnomaly, newRefundAnomaly } from '../domain/anomaly.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { reportOpenEffect } from '../domain/payment-effects.ts'
import { requireRefund } from '../domain/refund.ts'
import { reportOpenRefundEffect } from '../domain/refund-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

const LEASE_MS = 5_000
/** The effect calls nothing outside, so only crashes use up its tries. */
const TRIES_MAX = 20

/** Leaves a withdrawal that is still open to the operator, as an anomaly. It is polled further (P8). */
export function bindReportOpen(): BoundEffect<StoredPayment> {
  return bindPaymentEffect(reportOpenEffect, {
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    run: async () => (payment) =>
      isFinal(payment.status) ? payment : addAnomaly(payment, newOpenTooLongAnomaly(payment, now())),
  })
}

/** Leaves a refund that is still open to the operator, as an anomaly. It is polled further. */
export function bindReportOpenRefund(): BoundEffect<StoredPayment> {
  return bindPaymentEffect(reportOpenRefundEffect, {
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    run:
      async ({ data: { refund_id } }) =>
      (payment) => {
        if (requireRefund(payment, refund_id).state !== 'approved') return payment
        const reported = 'has not decided after 24 hours about the refund'
        const anomaly = newRefundAnomaly(payment, 'open_too_long', { refund_id, reported, at: now() })
        return addAnomaly(payment, anomaly)
      },
  })
}
