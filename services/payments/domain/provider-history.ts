import type { CallResult, CreateRecord, HeardOutcome, OperationSubject } from './call-result.ts'
import type { OperationRef } from './operation.ts'
import { asPaid, type Payment } from './payment.ts'

/** The facts of a create that its result does not have. */
export type CreateCall = Pick<CreateRecord, 'began_at' | 'duration_ms' | 'http_status'>

/** What a provider said about an operation, and how it came. */
type Heard = OperationRef & {
  readonly result: CallResult
  readonly at: Date
  readonly call?: CreateCall | undefined
  readonly is_callback?: boolean | undefined
}

/** The creates that a payment keeps, its refunds' included; then the oldest goes. */
const CREATES_MAX = 16
/** The reports that a payment keeps, its refunds' included; then the oldest goes. */
const REPORTS_MAX = 32

/**
 * The payment with a create, or with a report that changed something, in its history. A look-up without an answer is no
 * report. Pure.
 */
export function withHistory(before: Payment, after: Payment, heard: Heard): Payment {
  const { result, at, call, is_callback = false } = heard
  const subject = subjectOf(heard)
  if (call !== undefined) {
    const created = {
      ...subject,
      account_id: accountOf(after, heard),
      ...call,
      ...outcomeOf(result),
      ...reasonOf(result),
    }
    return { ...after, creates: [...(after.creates ?? []), created].slice(-CREATES_MAX) }
  }
  if (after === before || result.kind === 'unknown' || result.kind === 'not_sent') return after
  const report = { ...subject, at, is_callback, ...outcomeOf(result) }
  return { ...after, reports: [...(after.reports ?? []), report].slice(-REPORTS_MAX) }
}

function subjectOf({ attempt_number, refund_id }: OperationRef): OperationSubject {
  return refund_id === undefined ? { attempt_number } : { refund_id }
}

function accountOf(payment: Payment, { attempt_number, refund_id }: OperationRef): string {
  if (refund_id !== undefined) return asPaid(payment).attempt.account_id
  return payment.provider_accounts[attempt_number - 1] ?? payment.attempt.account_id
}

function outcomeOf(result: CallResult): HeardOutcome {
  const outcome = result.kind
  if (!('provider_id' in result || 'code' in result)) return { outcome }
  const { provider_id } = result
  return { outcome, ...(provider_id && { provider_id }), ...('code' in result && { code: result.code }) }
}

function reasonOf(result: CallResult): Pick<CreateRecord, 'reason'> {
  return 'reason' in result ? { reason: result.reason } : {}
}
