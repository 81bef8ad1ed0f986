import { expect, test } from '@jest/globals'
import { newDeposit } from '../payment.fixture.ts'
import type { Payment } from './payment.ts'
import { withHistory } from './provider-history.ts'

const at = new Date('2026-11-24T12:00:00.000Z')
const call = (duration_ms: number) => ({ began_at: at, duration_ms, http_status: 200 })
const pending = { kind: 'pending', provider_id: 'p-1' } as const

function times(count: number, step: (payment: Payment, number: number) => Payment): Payment {
  return Array.from({ length: count }).reduce<Payment>(
    (payment, _, number) => step(payment, number),
    newDeposit(),
  )
}

test('the last 16 creates are kept, in their order', () => {
  const { creates = [], reports } = times(20, (payment, number) =>
    withHistory(payment, payment, { attempt_number: 1, result: pending, at, call: call(number) }),
  )
  expect(creates.map(({ duration_ms }) => duration_ms)).toEqual(
    Array.from({ length: 16 }, (_, index) => index + 4),
  )
  expect(reports).toBeUndefined()
})

test('the last 32 reports that changed something are kept; one that changed nothing, and silence, are none', () => {
  const { reports = [] } = times(40, (payment, number) =>
    withHistory(
      payment,
      { ...payment },
      { attempt_number: number + 1, result: pending, at, is_callback: true },
    ),
  )
  expect(reports.map(({ attempt_number }) => attempt_number)).toEqual(
    Array.from({ length: 32 }, (_, index) => index + 9),
  )
  const payment = newDeposit()
  expect(withHistory(payment, payment, { attempt_number: 1, result: pending, at })).toBe(payment)
  const changed = { ...payment }
  const silence = { kind: 'unknown', reason: 'a time-out' } as const
  expect(withHistory(payment, changed, { attempt_number: 1, result: silence, at })).toBe(changed)
})
