import { expect, test } from '@jest/globals'
import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import { CREATED_AT, newDeposit, newReservation } from '../payment.fixture.ts'
import { closeAnomalyEffect, recordAnomalyEffect } from './anomaly.ts'
import { applyExpiry } from './apply-expiry.ts'
import { applyNotFoundUpdate, applyProviderUpdate } from './apply-provider-update.ts'
import { goToPaidAttempt } from './attempts.ts'
import type { LookupResult } from './call-result.ts'
import { endByOperator } from './end-without-report.ts'
import { admitWithdrawal } from './hold-decision.ts'
import { operationOf, operationsToFind } from './operation.ts'
import { isAdmitted, type Payment, type Refund, requireAdmitted } from './payment.ts'
import { adoptClaim } from './payment-claims.ts'
import { findRestoredEffect, pollProviderEffect } from './payment-effects.ts'
import { applyRefundHold, beginApproval } from './refund-transitions.ts'
import { applyRestoredAnswers, markRestored } from './restored.ts'
import { transition } from './transition.ts'

const AT = new Date(CREATED_AT.getTime() + 3_600_000)
/** When a search has caught up. */
const SOON = new Date(AT.getTime() + 60_000)
const LATER = new Date(AT.getTime() + 600_000)
const AMOUNT = { minor: 150_000n, currency: 'INR' }
const SUCCESS = { kind: 'success', provider_id: 'p-1', amount: AMOUNT, completed_at: AT } as const
const PENDING = { kind: 'pending', provider_id: 'p-1', amount: AMOUNT } as const
const DECLINED = { kind: 'declined', provider_id: 'p-1', amount: AMOUNT, code: 6044 } as const
const NOT_FOUND = { kind: 'not_found' } as const
const SILENT = { kind: 'unknown', reason: 'no response' } as const

const withdrawal = () => admitWithdrawal(newReservation(), CREATED_AT)

/** A payment that was restored, as its process reads it. */
function restored(begun: Payment): Payment {
  const marked = markRestored(begun, AT)
  if (!isAdmitted(marked)) throw new TypeError('the payment is not admitted')
  return marked
}

function withRefund(state: Refund['state']): Payment {
  const paid = transition(newDeposit({ effects: [] }), 'success', { at: CREATED_AT })
  const approved_at = state === 'approved' ? CREATED_AT : undefined
  const refund = {
    refund_id: 'r-1',
    amount: 1_000n,
    state,
    change_number: 1,
    holds: 1,
    created_at: CREATED_AT,
  }
  return { ...paid, effects: [], refunds: [{ ...refund, approved_at }] }
}

/** The answers of the first and the second account, each about its own attempt. */
function answer(payment: Payment, results: readonly LookupResult[], at = SOON, asked_at = at): Payment {
  const answers = results.map((result, index) => ({ attempt_number: index + 1, result }))
  return applyRestoredAnswers(payment, { refund_id: undefined, answers, asked_since: AT, asked_at, at })
}

const isAsked = ({ effects }: Payment): boolean => effects.some(findRestoredEffect.matches)
const anomaliesOf = ({ effects }: Payment) =>
  effects.flatMap((effect) => recordAnomalyEffect.dataOf(effect) ?? []).map(({ kind }) => kind)

// P19
test('an open payment is marked, and a final one only for its refunds that have not ended', () => {
  expect(restored(withdrawal())).toMatchObject({ restored: 'asking_accounts' })
  expect(isAsked(restored(withdrawal()))).toBe(true)
  const paid = transition(newDeposit({ effects: [] }), 'success', { at: AT })
  expect(markRestored(paid, AT)).toBe(paid)
  for (const state of ['pending', 'approving', 'approved'] as const) {
    const marked = restored(withRefund(state))
    expect(marked).toMatchObject({ refunds: [{ restored: 'asking_accounts' }] })
    expect(marked).not.toHaveProperty('restored')
    expect(isAsked(marked)).toBe(true)
  }
  const ended = withRefund('failed')
  expect(markRestored(ended, AT)).toBe(ended)
  // Support knows a refund of a payment that was still open when the backup read it.
  const begun = newDeposit({ refunds: withRefund('pending').refunds ?? [] })
  expect(restored(begun)).toMatchObject({
    restored: 'asking_accounts',
    refunds: [{ restored: 'asking_accounts' }],
  })
})

// P3
test('a withdrawal that was not admitted in the backup asks as soon as it is', () => {
  const marked = markRestored(newReservation(), AT)
  if (marked.status !== 'reserving') throw new TypeError('the withdrawal is admitted')
  expect(isAsked(admitWithdrawal(marked, AT))).toBe(true)
})

// P19
test('the ledger may have refused after the backup what it had not decided in it: its key is never sent, before a new approval', () => {
  const marked = markRestored(newReservation(), AT)
  if (marked.status !== 'reserving') throw new TypeError('the withdrawal is admitted')
  const admitted = admitWithdrawal(marked, AT)
  const answered = answer(admitted, [NOT_FOUND, NOT_FOUND])
  const refund = { ...restored(withRefund('approving')), restored: 'accounts_answered' } as const
  const pending = applyRefundHold(refund, { refund_id: 'r-1', hold_id: 'r-1:hold:1', refused_code: 6004 }, AT)
  const { payment: again } = beginApproval(pending, 'r-1', AT)
  const isUnknown = (payment: Payment, refund_id?: string) =>
    operationOf(payment, refund_id).record.is_hold_unknown
  expect([isUnknown(admitted), isUnknown(answered), isUnknown(refund, 'r-1')]).toEqual([true, true, true])
  expect([
    isUnknown(again, 'r-1'),
    isUnknown(restored(withdrawal())),
    isUnknown(restored(withRefund('approved')), 'r-1'),
  ]).toEqual([undefined, undefined, undefined])
})

// P4: its first request may have left after the backup, to what the account was then.
test('the window of a restored refund counts from its request, and its account is unknown until the answer', () => {
  const asking = restored(withRefund('pending'))
  const [deposit] = operationOf(asking, undefined).account_stamps
  expect(operationOf(asking, 'r-1').account_stamps).toStrictEqual([deposit, undefined])
  const answers = [{ refund_id: 'r-1', result: NOT_FOUND }]
  const at = { asked_since: AT, asked_at: SOON, at: SOON }
  const answered = applyRestoredAnswers(asking, { refund_id: 'r-1', answers, ...at })
  const { payment: approving } = beginApproval(answered, 'r-1', LATER, 'f')
  const hold = { refund_id: 'r-1', hold_id: 'r-1:hold:2', refused_code: undefined }
  expect(operationOf(applyRefundHold(approving, hold, LATER), 'r-1')).toMatchObject({
    status: 'approved',
    began_at: CREATED_AT,
    account_stamps: [deposit, { fingerprint: 'f', at: LATER }],
  })
})

test('a second restore asks for a whole minute again, although its backup had the questions of the first one', () => {
  const first = restored(withRefund('approved'))
  const { effects } = requireAdmitted(markRestored(first, LATER))
  expect(effects.flatMap((effect) => findRestoredEffect.dataOf(effect) ?? [])).toEqual([
    { refund_id: 'r-1', since: LATER },
  ])
})

test('every account is asked under the key of its own attempt, which the backup need not know', () => {
  const { payment_id } = withdrawal()
  const asked = operationsToFind(restored(withdrawal()), undefined).map(({ idempotency_key, payment }) => [
    payment.attempt.account_id,
    idempotency_key,
  ])
  expect(asked).toEqual([
    ['first', `${payment_id}:1`],
    ['second', `${payment_id}:2`],
  ])
  const of_refund = operationsToFind(restored(withRefund('approved')), 'r-1')
  expect(of_refund.map(({ idempotency_key }) => idempotency_key)).toEqual([`${payment_id}:refund:r-1`])
})

test('what an account has becomes the current attempt, and ends the payment when it has ended there', () => {
  const ends: readonly [LookupResult, PaymentStatus][] = [
    [SUCCESS, 'success'],
    [DECLINED, 'error'],
    [PENDING, 'processing'],
  ]
  for (const [result, status] of ends) {
    const found = answer(restored(withdrawal()), [NOT_FOUND, result])
    expect(found).toMatchObject({
      status,
      restored: 'accounts_answered',
      attempt: { number: 2, account_id: 'second' },
    })
    expect(isAsked(found)).toBe(false)
  }
})

// P4
test('an account that the payment leaves for a later one, and that has called it pending, is asked when the later one fails', () => {
  const both = answer(restored(withdrawal()), [PENDING, PENDING])
  expect(both).toMatchObject({ attempt: { number: 2 }, pending_elsewhere: [1] })
  const failed = applyProviderUpdate(both, { attempt_number: 2, result: DECLINED, at: LATER, poll_at: LATER })
  expect(failed).toMatchObject({ status: 'processing', attempt: { number: 1 } })
  const declined = answer(restored(withdrawal()), [DECLINED, PENDING])
  expect(declined.pending_elsewhere).toBeUndefined()
})

// P4
test('an attempt before the one of the backup does not become the current one: its success is an anomaly', () => {
  const attempt = { number: 2, account_id: 'second', created_at: CREATED_AT }
  const second = restored({ ...withdrawal(), status: 'processing', attempt })
  const answered = answer(second, [SUCCESS, PENDING])
  expect(answered).toMatchObject({ status: 'processing', attempt, earlier_successes: [1] })
  expect(anomaliesOf(answered)).toEqual(['success_of_earlier_attempt'])
})

test('a failure at one account is no end until the other ones have answered', () => {
  const waiting = answer(restored(withdrawal()), [DECLINED, SILENT])
  expect(waiting).toMatchObject({ status: 'processing', restored: 'asking_accounts' })
  expect(answer(waiting, [DECLINED, NOT_FOUND]).status).toBe('error')
  expect(answer(waiting, [DECLINED, SUCCESS])).toMatchObject({ status: 'success', attempt: { number: 2 } })
})

test('what no account has stays at its attempt, whose window counts from the creation', () => {
  const late = { number: 1, account_id: 'first', created_at: LATER }
  const answered = answer(restored({ ...withdrawal(), attempt: late }), [NOT_FOUND, NOT_FOUND])
  expect(answered).toMatchObject({ status: 'created', restored: 'accounts_answered', attempt: { number: 1 } })
  expect(operationOf(answered).began_at).toEqual(answered.created_at)
})

test('"not found" within a minute of the restore says nothing: the search of a provider may lag', () => {
  const begun = restored(withdrawal())
  const just_before = new Date(SOON.getTime() - 1)
  expect(answer(begun, [NOT_FOUND, NOT_FOUND], just_before)).toBe(begun)
  // What counts is when it was asked, not when it has answered.
  expect(answer(begun, [NOT_FOUND, NOT_FOUND], SOON, just_before)).toBe(begun)
  expect(answer(begun, [NOT_FOUND, SUCCESS], just_before)).toMatchObject({
    status: 'success',
    attempt: { number: 2 },
  })
})

test('an account that is silent for five minutes is an anomaly, and the answer of another one counts at once', () => {
  const begun = restored(withdrawal())
  expect(answer(begun, [NOT_FOUND, SILENT])).toBe(begun)
  const silent = answer(begun, [NOT_FOUND, SILENT], LATER)
  expect(anomaliesOf(silent)).toEqual(['silent_since_restore'])
  expect(answer(silent, [NOT_FOUND, SILENT], LATER)).toBe(silent)
  expect(answer(silent, [NOT_FOUND, NOT_FOUND], LATER).effects.some(closeAnomalyEffect.matches)).toBe(true)
  expect(answer(begun, [NOT_FOUND, NOT_FOUND], LATER).effects.some(closeAnomalyEffect.matches)).toBe(false)
  const paid = answer(begun, [SILENT, SUCCESS])
  expect(paid).toMatchObject({ status: 'success', attempt: { number: 2 } })
  expect(isAsked(paid)).toBe(true)
  // The silent one may have been paid too.
  expect(anomaliesOf(answer(paid, [SUCCESS, SUCCESS]))).toEqual(['success_of_earlier_attempt'])
  const left = answer(paid, [SILENT, SUCCESS], LATER)
  expect(isAsked(left)).toBe(false)
  expect(anomaliesOf(left)).toEqual(['silent_since_restore'])
  expect(left.effects.some(closeAnomalyEffect.matches)).toBe(false)
  const decision = { decision: 'a:1', is_paid: false, at: LATER, sends_callbacks: true }
  const ended = endByOperator(silent, undefined, decision)
  expect(answer(ended, [NOT_FOUND, SILENT], LATER)).toMatchObject({
    status: 'error',
    restored: 'accounts_answered',
  })
})

test('a callback about a later attempt than the backup knows makes it the current one, until all accounts have answered', () => {
  const update = { attempt_number: 2, result: SUCCESS, at: AT, poll_at: AT }
  const paid = applyProviderUpdate(restored(withdrawal()), update)
  expect(paid).toMatchObject({ status: 'success', attempt: { number: 2 } })
  expect(anomaliesOf(paid)).toEqual([])
  const answered = answer(restored(withdrawal()), [NOT_FOUND, NOT_FOUND])
  expect(applyProviderUpdate(answered, update)).toMatchObject({ status: 'created', earlier_successes: [2] })
})

// P4, P8
test('a payment whose accounts have not answered is not reported as lost by a poll, and does not expire', () => {
  const begun = restored(newDeposit({ status: 'processing', effects: [] }))
  const lost = { attempt_number: 1, may_repeat: false, fingerprint: '', at: LATER }
  expect(applyNotFoundUpdate(begun, lost)).toBe(begun)
  const expiry = { attempt_number: 1, at: LATER, ask_again_at: LATER, sends_callbacks: true }
  expect(applyExpiry(begun, { ...expiry, result: NOT_FOUND }).status).toBe('processing')
  expect(applyExpiry(begun, { ...expiry, result: SUCCESS }).status).toBe('success')
  const answered = answer(begun, [NOT_FOUND, NOT_FOUND])
  expect(applyExpiry(answered, { ...expiry, result: NOT_FOUND }).status).toBe('declined')
})

/** A restored deposit that went on after its backup, and that the ledger has credited. */
function booked(): Payment {
  const begun = restored(newDeposit({ status: 'processing', effects: [] }))
  const entry = { kind: 'entry', entry_id: `${begun.payment_id}:credit`, posting: 'credit' } as const
  return requireAdmitted(adoptClaim(begun, { ...entry, amount: begun.amount, currency: 'INR' }, AT))
}

test('a payment that only the ledger knows as paid goes to the attempt whose success an account reports', () => {
  expect(booked()).toMatchObject({ status: 'success', restored: 'booked', attempt: { number: 1 } })
  const paid_at = new Date(AT.getTime() - 1_000)
  const success = { ...SUCCESS, utr: 'u-1', completed_at: paid_at }
  for (const first of [NOT_FOUND, PENDING, DECLINED]) {
    const found = answer(booked(), [first, success])
    expect(found).toMatchObject({ status: 'success', restored: 'accounts_answered', p_id: 'p-1', utr: 'u-1' })
    expect(found).toMatchObject({ attempt: { number: 2, account_id: 'second' }, finished_at: paid_at })
    expect(isAsked(found)).toBe(false)
    expect(anomaliesOf(found)).toEqual([])
  }
  const of_callback = applyProviderUpdate(booked(), {
    attempt_number: 2,
    result: SUCCESS,
    at: AT,
    poll_at: AT,
  })
  expect(of_callback).toMatchObject({ restored: 'asking_accounts', attempt: { number: 2 } })
  expect(isAsked(of_callback)).toBe(true)
  const twice = answer(booked(), [SUCCESS, { ...SUCCESS, provider_id: 'p-2' }])
  expect(twice).toMatchObject({ attempt: { number: 1 } })
  expect(anomaliesOf(twice)).toEqual(['success_of_earlier_attempt'])
})

test('what no account reports as paid, but the ledger has booked, is asked for until an account or the operator says it', () => {
  expect(answer(booked(), [NOT_FOUND, DECLINED])).toEqual(booked())
  const other = { ...SUCCESS, amount: { minor: 1n, currency: 'INR' } }
  const unknown = answer(booked(), [other, SILENT], LATER)
  expect(unknown).toMatchObject({ status: 'success', restored: 'booked' })
  expect(anomaliesOf(unknown)).toEqual(['amount_differs', 'not_found_at_provider', 'silent_since_restore'])
  expect(isAsked(unknown)).toBe(true)
  const found = answer(unknown, [NOT_FOUND, SUCCESS], LATER)
  expect(found).toMatchObject({ restored: 'accounts_answered', attempt: { number: 2 } })
  expect(found.effects.filter(closeAnomalyEffect.matches)).toHaveLength(2)
  const decided = goToPaidAttempt(unknown, 2)
  expect(decided).toMatchObject({ restored: 'asking_accounts', attempt: { number: 2, account_id: 'second' } })
  expect(goToPaidAttempt(found, 1)).toBeUndefined()
})

// P19
test('when a refund is answered, its payment is still asked for, and the other way round', () => {
  const both = restored(newDeposit({ refunds: withRefund('approved').refunds ?? [] }))
  const asked = (payment: Payment) =>
    payment.effects.filter(findRestoredEffect.matches).map(({ data }) => data['refund_id'])
  const answered = (refund_id: string | undefined) =>
    applyRestoredAnswers(both, {
      refund_id,
      answers: [{ ...(refund_id === undefined ? { attempt_number: 1 } : { refund_id }), result: NOT_FOUND }],
      asked_since: AT,
      asked_at: SOON,
      at: SOON,
    })
  expect(asked(both)).toEqual([undefined, 'r-1'])
  expect(asked(answered('r-1'))).toEqual([undefined])
  expect(answered('r-1')).toMatchObject({
    restored: 'asking_accounts',
    refunds: [{ restored: 'accounts_answered' }],
  })
  expect(asked(answered(undefined))).toEqual(['r-1'])
})

// S9
test('a refund that its provider has is completed, or is an anomaly where the backup has it as not approved', () => {
  const of_refund = (state: Refund['state'], result: LookupResult) =>
    applyRestoredAnswers(restored(withRefund(state)), {
      refund_id: 'r-1',
      answers: [{ refund_id: 'r-1', result }],
      asked_since: AT,
      asked_at: SOON,
      at: SOON,
    })
  const paid = { ...SUCCESS, amount: { minor: 1_000n, currency: 'INR' } }
  const underway = { ...PENDING, amount: paid.amount }
  expect(of_refund('approved', paid)).toMatchObject({
    refunds: [{ state: 'completed', restored: 'accounts_answered' }],
  })
  expect(of_refund('approved', underway).effects.some(pollProviderEffect.matches)).toBe(true)
  for (const result of [paid, underway])
    expect(anomaliesOf(of_refund('pending', result))).toEqual(['contradicts_final_status'])
  expect(of_refund('pending', NOT_FOUND)).toMatchObject({
    refunds: [{ state: 'pending', restored: 'accounts_answered' }],
  })
})
