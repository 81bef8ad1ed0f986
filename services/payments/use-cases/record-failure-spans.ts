import { now } from '#lib/base/time.ts'
import { failureTraceOf, isFailureTrace, recordPastSpan } from '#lib/telemetry/failure-trace.ts'
import { isAdmitted, type StoredPayment } from '../domain/payment.ts'

/**
 * Records the spans of a payment that has begun to fail and was not sampled, after the write that said so: first the payment
 * itself, from its creation on, then its creates so far. What follows is recorded by the work itself, in the same trace.
 */
export function recordFailureSpans(after: StoredPayment, before: StoredPayment | undefined): void {
  const { payment_id, traceparent } = after
  if (!isAdmitted(after) || !isFailureTrace(traceparent, payment_id)) return
  // Later work is recorded when it is done, because the payment has its trace then.
  if (before?.traceparent !== undefined) return
  const first = failureTraceOf(payment_id)
  recordPastSpan({
    name: 'payment',
    kind: 'internal',
    fields: { payment_id, merchant_id: after.merchant_id, environment: after.environment },
    first,
    is_first: true,
    began_at: after.created_at,
    ended_at: now(),
  })
  for (const { began_at, duration_ms, account_id, outcome, http_status, reason } of after.creates ?? [])
    recordPastSpan({
      name: 'create_at_provider',
      kind: 'client',
      fields: { payment_id, provider_account: account_id, outcome, http_status, reason },
      first,
      is_first: false,
      began_at,
      ended_at: new Date(began_at.getTime() + duration_ms),
    })
}
