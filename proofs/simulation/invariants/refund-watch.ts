import type { Change } from '../parts/store/memory-collection.ts'
import { type History, recordKey } from '../workload/history.ts'
import { isPaidStatus } from '../workload/observe.ts'
import type { StoredChargeback, StoredPayment, StoredRefund } from './judge.ts'

/** What each state of a refund may become in one write (S7). `approving` waits for the ledger. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  pending: ['approving', 'rejected', 'canceled'],
  approving: ['approved', 'pending'],
  approved: ['completed', 'failed'],
}

const ACTIVE = ['pending', 'approving', 'approved']
/** The states in which the money of a refund is gone, or on its way. */
const COMMITTED = ['approving', 'approved', 'completed']

/** The most refunds of one payment (S8). */
const REFUNDS_MAX = 100

/**
 * What is wrong with one change of the refunds and chargebacks of a payment: what is committed never exceeds it, one refund
 * at most is active, each new one had room, each refusal had its reason, and each moves along its table (S8, S9, S10).
 */
export function* refundProblems(
  { key, before: old_body, after: new_body }: Change,
  requests: History['refunds'],
): Iterable<string> {
  const [before, after] = [old_body, new_body] as unknown as (StoredPayment | undefined)[]
  if (after === undefined || (after.refunds ?? after.chargebacks ?? after.reservation_refusals) === undefined)
    return
  const { amount, refunds = [], chargebacks = [] } = after
  const committed = sum(refunds.filter(({ state }) => COMMITTED.includes(state))) + lostTo(chargebacks)
  if (committed > amount) yield `the payment ${key} over ${amount} gives back ${committed}`
  if (refunds.filter(isActive).length > 1) yield `the payment ${key} has several active refunds`
  if (before === undefined || !isPaidStatus(before.status)) {
    if (refunds.length > 0 || chargebacks.length > 0) yield `the payment ${key} is refunded and was not paid`
  }
  for (const [index, refund] of refunds.entries()) {
    const old = before?.refunds?.[index]
    if (old === undefined)
      yield* newRefundProblems(key, before, refund, requestedAmount(after, refund, requests))
    else yield* movedRefundProblems(key, old, refund)
  }
  for (const [index, chargeback] of chargebacks.entries()) {
    const old = before?.chargebacks?.[index]
    const is_same =
      old === undefined ||
      (old.chargeback_id === chargeback.chargeback_id &&
        old.amount === chargeback.amount &&
        (chargeback.is_won || !old.is_won))
    if (!is_same) yield `the payment ${key} changed the chargeback ${chargeback.chargeback_id}`
  }
  yield* refusalProblems(key, before, after)
}

function* newRefundProblems(
  key: string,
  before: StoredPayment | undefined,
  { refund_id, amount, state }: StoredRefund,
  requested: bigint | undefined,
): Iterable<string> {
  const left = leftOf(before)
  const expected = requested ?? left
  if (state !== 'pending') yield `the refund ${refund_id} of ${key} begins as ${state}`
  if (amount <= 0n || amount > left) yield `the refund ${refund_id} of ${key} over ${amount} exceeds ${left}`
  if (amount !== expected) yield `the refund ${refund_id} of ${key} is over ${amount}, not ${expected}`
}

/** The amount that a merchant has asked for, by the `c_id` in the report of the new refund; `undefined` for all that is left. */
function requestedAmount(
  { merchant_id, effects }: StoredPayment,
  { refund_id }: StoredRefund,
  requests: History['refunds'],
): bigint | undefined {
  const report = effects.find(({ data }) => data?.['refund_id'] === refund_id && data['c_id'] !== undefined)
  const request = requests.get(recordKey(merchant_id, String(report?.data?.['c_id'])))
  return request?.amount === undefined ? undefined : BigInt(request.amount)
}

function* movedRefundProblems(key: string, old: StoredRefund, refund: StoredRefund): Iterable<string> {
  const { refund_id, state, change_number } = refund
  if (old.refund_id !== refund_id || old.amount !== refund.amount)
    yield `the payment ${key} changed the refund ${old.refund_id}`
  if (old.state !== state && NEXT[old.state]?.includes(state) !== true)
    yield `the refund ${refund_id} of ${key} went from ${old.state} to ${state}`
  // Merchants do not see the wait for the ledger.
  const is_shown = old.state !== state && state !== 'approving' && state !== 'pending'
  if (change_number !== old.change_number + (is_shown ? 1 : 0))
    yield `the refund ${refund_id} of ${key} went from ${old.state} to ${state} with the change ${change_number}`
}

/** A refusal that is new must follow from the payment before it. */
function* refusalProblems(
  key: string,
  before: StoredPayment | undefined,
  { reservation_refusals = [] }: StoredPayment,
): Iterable<string> {
  const known = new Set(before?.reservation_refusals?.map(({ id }) => id))
  const { refunds = [], status = '' } = before ?? {}
  const is_refundable = status === 'success' || status === 'partially_refunded'
  const reasons: Readonly<Record<number, boolean>> = {
    11002: !is_refundable || leftOf(before) <= 0n || refunds.length >= REFUNDS_MAX,
    // What depends on the amount or the currency of the request, which are not stored.
    6002: true,
    11004: true,
    11005: refunds.some(isActive),
  }
  for (const { id, code } of reservation_refusals) {
    if (!known.has(id) && reasons[code] !== true)
      yield `the payment ${key} refused ${id} with ${code} without a reason`
  }
}

/** What completed refunds and chargebacks that are not won have left of a payment. */
function leftOf(payment: StoredPayment | undefined): bigint {
  if (payment === undefined || payment.direction !== 'in' || !isPaidStatus(payment.status)) return 0n
  const { amount, refunds = [], chargebacks = [] } = payment
  return amount - sum(refunds.filter(({ state }) => state === 'completed')) - lostTo(chargebacks)
}

function isActive({ state }: StoredRefund): boolean {
  return ACTIVE.includes(state)
}

function lostTo(chargebacks: readonly StoredChargeback[]): bigint {
  return sum(chargebacks.filter(({ is_won }) => !is_won))
}

function sum(parts: readonly { readonly amount: bigint }[]): bigint {
  return parts.reduce((total, { amount }) => total + amount, 0n)
}
