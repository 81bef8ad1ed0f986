import { describe, expect, test } from '@jest/globals'
import { CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { recordAnomalyEffect } from './anomaly.ts'
import { applyProviderUpdate } from './apply-provider-update.ts'
import type { CallResult } from './call-result.ts'
import type { Payment } from './payment.ts'

const at = new Date(CREATED_AT.getTime() + 1_000)
const RESULTS = {
  paid: {
    kind: 'success',
    provider_id: 'p-1',
    amount: { minor: 150_000n, currency: 'INR' },
    completed_at: CREATED_AT,
  },
  pending: { kind: 'pending', provider_id: 'p-1' },
  declined: { kind: 'declined', code: 6044 },
} satisfies Record<string, CallResult>

function report(payment: Payment, name: keyof typeof RESULTS, attempt_number: number): Payment {
  return applyProviderUpdate(payment, { attempt_number, result: RESULTS[name], at, poll_at: at })
}

// P4
describe('a payment at its third account, when the two others may have been paid', () => {
  const open: Payment = newDeposit({
    status: 'processing',
    attempt: { number: 3, account_id: 'third', created_at: at },
    provider_accounts: ['first', 'second', 'third'],
    effects: [],
  })

  test('goes to each that is pending when the one before has failed, and ends when all have', () => {
    const noted = report(report(open, 'pending', 1), 'pending', 2)
    expect(noted.pending_elsewhere).toEqual([1, 2])
    const second = report(noted, 'declined', 3)
    expect(second).toMatchObject({ attempt: { number: 2, account_id: 'second' }, pending_elsewhere: [1] })
    const first = report(second, 'declined', 2)
    expect(first).toMatchObject({ status: 'processing', attempt: { number: 1, account_id: 'first' } })
    expect(first).not.toHaveProperty('pending_elsewhere')
    // Callbacks about the third attempt are still about this payment.
    expect([second.highest_attempt, first.highest_attempt]).toEqual([3, 3])
    expect(report(first, 'declined', 1)).toMatchObject({ status: 'error' })
  })

  test('goes to the last that called it paid, which leaves it to the operator when it also calls it failed', () => {
    const noted = report(report(open, 'paid', 1), 'paid', 2)
    const second = report(noted, 'declined', 3)
    expect(second).toMatchObject({ attempt: { number: 2 }, earlier_successes: [1, 2] })
    const contradicted = report(second, 'declined', 2)
    expect(contradicted).toMatchObject({ status: 'processing', attempt: { number: 2 } })
    expect(contradicted.effects.findLast(recordAnomalyEffect.matches)?.data['kind']).toBe(
      'contradicts_final_status',
    )
  })

  test('keeps nothing that the account which failed has reported about itself', () => {
    const declined: CallResult = { kind: 'declined', code: 6044, provider_id: 'p-3' }
    const left = applyProviderUpdate(report(open, 'pending', 1), {
      attempt_number: 3,
      result: declined,
      at,
      poll_at: at,
    })
    expect(left).toMatchObject({ attempt: { number: 1 } })
    expect(left.p_id).toBeUndefined()
    expect(report(left, 'paid', 1)).toMatchObject({ status: 'success', p_id: 'p-1' })
    // Where no other account may have been paid, the payment ends with what its account reported.
    const ended = applyProviderUpdate(open, { attempt_number: 3, result: declined, at, poll_at: at })
    expect(ended).toMatchObject({ status: 'error', p_id: 'p-3' })
  })

  test('goes to the one that called it paid before the one that called it pending', () => {
    const noted = report(report(open, 'paid', 1), 'pending', 2)
    expect(report(noted, 'declined', 3)).toMatchObject({ attempt: { number: 1 }, pending_elsewhere: [2] })
  })
})
