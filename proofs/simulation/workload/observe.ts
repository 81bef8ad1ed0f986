import type { History, PaymentRecord } from './history.ts'

/** The part of a public payment object that the merchant compares. */
interface ShownPayment {
  readonly identifiers: { readonly c_id: string; readonly h_id: string }
  readonly amount: { readonly value: number; readonly currency: string }
  readonly status: { readonly status: string; readonly final: boolean }
}

/** What each status may become. It is written here again, so that a fault in the product's own table is found. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  created: ['processing', 'success', 'error', 'canceled', 'declined'],
  processing: ['success', 'error', 'canceled', 'declined'],
  success: ['partially_refunded', 'refunded'],
  partially_refunded: ['refunded'],
  refunded: [],
  error: [],
  canceled: [],
  declined: [],
}

/** Whether one write may take a payment from one status to another, or leave it there. */
export function mayBecome(from: string, to: string): boolean {
  return from === to || (NEXT[from] ?? []).includes(to)
}

/** Whether a payment may go from one status to another, in one step or several. */
export function mayFollow(from: string, to: string): boolean {
  return from === to || (NEXT[from] ?? []).some((next) => mayFollow(next, to))
}

/** The statuses of a deposit that a customer has paid. */
const PAID = ['success', 'partially_refunded', 'refunded']

/** Whether a deposit in this status was paid. */
export function isPaidStatus(status: string): boolean {
  return PAID.includes(status)
}

/** Whether a status is final: no word of a provider changes it. */
export function isFinalStatus(status: string): boolean {
  return status !== 'created' && status !== 'processing' && status in NEXT
}

/** Records a payment that a response or a callback showed, and what it contradicts. */
export function observePayment(history: History, record: PaymentRecord, shown: unknown): ShownPayment {
  const payment = shown as ShownPayment
  const problem = (text: string): void => void history.problems.push(`${record.c_id}: ${text}`)
  const { identifiers, amount, status } = payment
  if (identifiers.c_id !== record.c_id) problem(`it was shown as ${identifiers.c_id}`)
  observeId(history, record, identifiers.h_id)
  if (amount.value !== record.amount || amount.currency !== record.currency) {
    problem(`its amount is ${record.amount} ${record.currency}, shown was ${amount.value} ${amount.currency}`)
  }
  if (isPaidStatus(status.status) && record.direction === 'in') history.paid.add(record)
  if (status.final !== isFinalStatus(status.status))
    problem(`${status.status} was shown as final ${status.final}`)
  return payment
}

/** Records the public id of a payment. */
export function observeId(history: History, record: PaymentRecord, h_id: string): void {
  if (record.h_id !== undefined && record.h_id !== h_id) {
    history.problems.push(`${record.c_id}: it is ${record.h_id}, and later ${h_id}`)
  }
  record.h_id ??= h_id
  record.is_accepted = true
}

/** Records the status in a response. `began_at` is the number of statuses known when the request was sent. */
export function observeStatus(
  history: History,
  record: PaymentRecord,
  status: string,
  began_at: number,
): void {
  const earlier = record.statuses[began_at - 1]
  if (earlier !== undefined && !mayFollow(earlier, status)) {
    history.problems.push(`${record.c_id}: it was ${earlier}, and a later read showed ${status}`)
  }
  record.statuses.push(status)
}
