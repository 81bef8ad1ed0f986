import type { CallResult } from './call-result.ts'
import type { Payment, ProviderRecord } from './payment.ts'
import { findRefund, requireRefund, withRefund } from './refund.ts'

/** Names what a record is about: an attempt by its number, or a refund. */
interface RecordRef {
  readonly attempt_number?: number | undefined
  readonly refund_id?: string | undefined
}

/** What is known of an attempt or a refund at its provider; empty when that is nothing. */
export function recordOf(payment: Payment, { attempt_number, refund_id }: RecordRef): ProviderRecord {
  if (refund_id !== undefined) return findRefund(payment, refund_id) ?? {}
  return payment.attempts?.find(({ number }) => number === attempt_number) ?? {}
}

/** The payment with changes to the record of an attempt or a refund. Throws for an unknown refund. */
export function withRecord(
  payment: Payment,
  { attempt_number: number = 0, refund_id }: RecordRef,
  changes: ProviderRecord,
): Payment {
  if (refund_id !== undefined)
    return withRefund(payment, { ...requireRefund(payment, refund_id), ...changes })
  const { attempts = [] } = payment
  const others = attempts.filter((attempt) => attempt.number !== number)
  const changed = { ...attempts.find((attempt) => attempt.number === number), number, ...changes }
  return { ...payment, attempts: [...others, changed].toSorted((a, b) => a.number - b.number) }
}

/** Whether a result names another id of the operation than its earlier reports (P4). */
export function namesOtherId({ provider_id }: ProviderRecord, result: CallResult): boolean {
  const named = 'provider_id' in result ? result.provider_id : undefined
  return named !== undefined && provider_id !== undefined && named !== provider_id
}

/**
 * Keeps the ids that a result names. The first id stays: a report with another one is not about what we know (P4). Pure.
 * Returns the same payment when nothing changes.
 */
export function noteIds(payment: Payment, ref: RecordRef, result: CallResult): Payment {
  if (!('provider_id' in result) || result.provider_id === undefined) return payment
  const record = recordOf(payment, ref)
  const { provider_id, transaction_id = record.transaction_id } = result
  const is_same =
    record.provider_id === provider_id &&
    record.transaction_id === transaction_id &&
    record.not_found_since === undefined
  return is_same
    ? payment
    : withRecord(payment, ref, { provider_id, transaction_id, not_found_since: undefined })
}
