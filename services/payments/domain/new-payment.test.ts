import { describe, expect, test } from '@jest/globals'
import { CREATED_AT, newReservation, STATUSES } from '../payment.fixture.ts'
import { admitWithdrawal, refuseWithdrawal } from './hold-decision.ts'
import { isAdmitted, requireAdmitted, type StoredPayment } from './payment.ts'
import {
  discardRefusedEffect,
  expirePaymentEffect,
  holdFundsEffect,
  postEntryEffect,
  recordRefusalEffect,
  reportOpenEffect,
} from './payment-effects.ts'

const reserving = newReservation()
/** The withdrawal when its hold has been decided: the effect that asked for it is gone. */
const decided = { ...reserving, effects: [] }
const at = new Date(CREATED_AT.getTime() + 1_000)

const kindsOf = ({ effects }: StoredPayment): string[] => effects.map(({ kind }) => kind)

// P3
describe('a withdrawal whose hold is not decided', () => {
  test('has no history and no effect but its hold', () => {
    expect(reserving).toMatchObject({ status: 'reserving', history: [] })
    expect(kindsOf(reserving)).toEqual([holdFundsEffect.kind])
  })

  test('begins its history, and the time of its attempt, when it is admitted', () => {
    const admitted = admitWithdrawal(decided, at)
    expect(admitted).toMatchObject({ status: 'created', created_at: CREATED_AT })
    // E15: its history begins with the request, which is also its `timestamps.created`.
    expect(admitted.history).toEqual([{ status: 'created', at: CREATED_AT, amount: admitted.amount }])
    expect(admitted.attempt).toEqual({ ...reserving.attempt, created_at: at })
    // P8: it does not expire, and the operator looks at it after 24 hours.
    const { effects } = admitted
    const due_at = new Date(at.getTime() + 24 * 3_600_000)
    expect(effects.filter(reportOpenEffect.matches)).toMatchObject([{ due_at }])
    expect(effects.some((effect) => expirePaymentEffect.matches(effect))).toBe(false)
    expect(effects.some((effect) => postEntryEffect.matches(effect))).toBe(false)
  })

  test('keeps the code of its refusal, and has no event', () => {
    const refused = refuseWithdrawal(decided, 6006, at)
    expect(refused).toMatchObject({ status: 'refused', error_code: 6006, history: [], updated_at: at })
    expect(refused.effects.filter(({ lane }) => lane === 'event')).toEqual([])
  })

  // The record is all that is left of it, and its store may be down for longer than the tombstone stays.
  test('is deleted only when its refusal is recorded', () => {
    const { effects } = refuseWithdrawal(decided, 6006, at)
    const record = effects.find(recordRefusalEffect.matches)
    expect(effects.find(discardRefusedEffect.matches)).toMatchObject({ after: record?.id })
  })
})

test('every public status is admitted, and the two internal ones are not', () => {
  const payment = admitWithdrawal(decided, at)
  const refused = refuseWithdrawal(decided, 6004, at)
  expect(STATUSES.filter((status) => !isAdmitted({ ...payment, status }))).toEqual([])
  for (const internal of [reserving, refused]) {
    expect(isAdmitted(internal)).toBe(false)
    expect(() => requireAdmitted(internal)).toThrow(/not admitted/)
  }
})
