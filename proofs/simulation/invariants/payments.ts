import { recordKey } from '../workload/history.ts'
import { isFinalStatus } from '../workload/observe.ts'
import { type Invariant, paymentsOf, unfinishedEffects } from './judge.ts'

/** An accepted `c_id` is one payment and exists; what was refused left no trace; no payment came from nowhere. */
export const acceptedPaymentsExist: Invariant = function* (evidence) {
  const stored = new Map(
    paymentsOf(evidence).map((payment) => [recordKey(payment.merchant_id, payment.c_id), payment]),
  )
  for (const [key, record] of evidence.history.payments) {
    const payment = stored.get(key)
    if (record.is_accepted && payment === undefined) yield `${key} was accepted and does not exist`
    if (payment === undefined) continue
    if (record.h_id !== undefined && payment.h_id !== record.h_id) yield `${key} was shown as ${record.h_id}`
    if (payment.amount !== BigInt(record.amount) || payment.currency !== record.currency) {
      yield `${key} has another amount than the merchant asked for`
    }
    if (record.refused_code !== undefined && !record.is_accepted && record.open_creates === 0) {
      yield `${key} was refused with ${record.refused_code} and exists`
    }
  }
  if (new Set([...stored.values()].map(({ h_id }) => h_id)).size !== stored.size) {
    yield 'two payments have the same h_id'
  }
  for (const key of stored.keys()) {
    if (!evidence.history.payments.has(key)) yield `${key} was never asked for`
  }
}

/** A payment that was stored, and that a later question for it did not find, was refused then: it does not exist. */
export const storedPaymentsAreFound: Invariant = function* (evidence) {
  const missed = new Set(evidence.history.missed)
  for (const { merchant_id, c_id, payment_id } of paymentsOf(evidence)) {
    if (missed.has(payment_id))
      yield `${recordKey(merchant_id, c_id)} exists, and a question after it was stored found nothing`
  }
}

/** Everything is final in the end: no payment is open, and no effect waits that is due by then. */
export const paymentsAreFinal: Invariant = function* (evidence) {
  for (const payment of paymentsOf(evidence)) {
    const { merchant_id, c_id, status, history } = payment
    const key = recordKey(merchant_id, c_id)
    if (!isFinalStatus(status)) yield `${key} is still ${status}`
    for (const { id, kind, stuck = false } of unfinishedEffects(payment))
      yield `${key} still has the effect ${kind} ${id}, stuck: ${stuck}`
    if (history.at(-1)?.status !== status) yield `${key} is ${status}, and its history ends otherwise`
  }
}

/** The last status that a merchant saw is the present one, or one before it. */
export const shownStatusesAreTrue: Invariant = function* (evidence) {
  for (const { merchant_id, c_id, history } of paymentsOf(evidence)) {
    const record = evidence.history.payments.get(recordKey(merchant_id, c_id))
    const had = history.map(({ status }) => status)
    for (const status of record?.statuses ?? []) {
      if (!had.includes(status))
        yield `${recordKey(merchant_id, c_id)} was shown as ${status}, which it never was`
    }
  }
}
