import { isFinal } from '#lib/contract/payment-status.ts'
import { counter, histogram } from '#lib/telemetry/metrics.ts'
import { isAdmitted, type StoredPayment } from '../domain/payment.ts'

const created_total = counter(
  'multihub_payments_created_total',
  'Payments that were admitted: deposits when they are created, withdrawals when the ledger has held their amount.',
  ['environment', 'direction'],
)

/** Upper bounds in seconds: from a payment that its provider decides at once to a transfer of days. */
const BOUNDS_S = [1, 5, 30, 120, 600, 1_800, 3_600, 21_600, 86_400, 259_200]

const end_seconds = histogram(
  'multihub_payment_seconds',
  'Time from the creation of a payment until its end, by the account of its last attempt and the status in which it ended.',
  ['environment', 'direction', 'provider_account', 'status'],
  BOUNDS_S,
)

/** Counts a payment when the write that admits it is stored, and once more with its duration when it has ended. */
export function measurePayment(after: StoredPayment, before: StoredPayment | undefined): void {
  if (!isAdmitted(after)) return
  const { environment, direction, status } = after
  const admitted_before = before !== undefined && isAdmitted(before) ? before : undefined
  if (admitted_before === undefined) created_total.increment({ environment, direction })
  if (!isFinal(status) || (admitted_before !== undefined && isFinal(admitted_before.status))) return
  end_seconds.observe(
    { environment, direction, provider_account: after.attempt.account_id, status },
    (after.updated_at.getTime() - after.created_at.getTime()) / 1_000,
  )
}
