import { expect, test } from '@jest/globals'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { newDeposit } from '../payment.fixture.ts'
import { newAnomalyEffect } from './anomaly.ts'

// P4
test('an anomaly names the amount in major units, and its id is made from minor units as before', () => {
  const payment = newDeposit({ status: 'processing', effects: [] })
  const amount = { minor: 150_001n, currency: 'INR' }
  const result = { kind: 'success', provider_id: 'p-1', amount, completed_at: new Date(0) } as const
  const { data } = newAnomalyEffect(payment, 'amount_differs', { result, attempt_number: 1, at: new Date(0) })
  expect(data['description']).toContain('reported success of 1,500.01 INR while')
  const report = `provider account ${payment.provider_accounts[0]} reported success of 150001 INR`
  const identity = `${payment.payment_id}:1:amount_differs:${report}`
  expect(data['anomaly_id']).toBe(sha256Hex(identity).slice(0, 32))
})
