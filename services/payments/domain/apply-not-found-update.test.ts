import { describe, expect, test } from '@jest/globals'
import { CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { recordAnomalyEffect } from './anomaly.ts'
import { applyNotFoundUpdate, applyProviderUpdate } from './apply-provider-update.ts'
import type { Payment } from './payment.ts'
import { repeatCreateEffect } from './payment-effects.ts'

const anomaliesOf = ({ effects }: Payment) =>
  effects.filter(recordAnomalyEffect.matches).map(({ data }) => data['kind'])

// P4
describe('an attempt that the provider does not know', () => {
  const late = new Date(CREATED_AT.getTime() + 5 * 60_000)
  const notFound = (payment: Payment, may_repeat: boolean, looked_at = late): Payment =>
    applyNotFoundUpdate(payment, { attempt_number: 1, may_repeat, fingerprint: '', at: looked_at })

  test('is sent again once at a time where that is safe', () => {
    const repeated = notFound(newDeposit({ status: 'processing', effects: [] }), true)
    expect(repeated.effects.map(({ kind }) => kind)).toEqual([repeatCreateEffect.kind])
    expect(notFound(repeated, true)).toBe(repeated)
  })

  test('is not sent again when a report named its id after the lookup', () => {
    const attempts = [{ number: 1, provider_id: 'p-1' }]
    const reported = notFound(newDeposit({ status: 'processing', effects: [], attempts }), true)
    expect(reported).toMatchObject({ attempts: [{ not_found_since: late }], effects: [] })
  })

  test('is an anomaly, once, where it is not safe', () => {
    const reported = notFound(newDeposit({ status: 'processing', effects: [] }), false)
    expect(anomaliesOf(reported)).toEqual(['not_found_at_provider'])
    const recorded = { ...reported, effects: [] }
    expect(notFound(recorded, false)).toBe(recorded)
  })

  test('is polled for five minutes before it is an anomaly: its request may be slow', () => {
    const payment = newDeposit({ status: 'processing', effects: [] })
    expect(notFound(payment, false, new Date(late.getTime() - 1))).toBe(payment)
  })

  test('is polled for five minutes from its first result, because a create can be sent long after its attempt began', () => {
    const began_at = new Date(CREATED_AT.getTime() + 3_600_000)
    const payment = applyProviderUpdate(newDeposit({ effects: [] }), {
      attempt_number: 1,
      result: { kind: 'unknown', reason: 'time-out' },
      at: began_at,
      poll_at: began_at,
    })
    const end = new Date(began_at.getTime() + 5 * 60_000)
    expect(notFound(payment, false, new Date(end.getTime() - 1))).toBe(payment)
    expect(anomaliesOf(notFound(payment, false, end))).toEqual(['not_found_at_provider'])
  })

  test('changes nothing when the payment is final or at another attempt', () => {
    const final = newDeposit({ status: 'success', effects: [] })
    const moved = newDeposit({
      status: 'processing',
      attempt: { number: 2, account_id: 'second', created_at: late },
    })
    for (const payment of [final, moved]) {
      for (const may_repeat of [true, false]) expect(notFound(payment, may_repeat)).toBe(payment)
    }
  })
})
