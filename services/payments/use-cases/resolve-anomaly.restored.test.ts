import { expect, test } from '@jest/globals'
import { CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { recordAnomaly } from '../store/anomalies.ts'
import { keyOfPayment } from '../store/payments.ts'
import { type ResolveAnomalyRequest, resolveAnomaly } from './resolve-anomaly.ts'

// P19
test('paid says which account has paid a restored deposit that only the ledger knows as paid: refunds go there', async () => {
  await using fixture = await openPayments()
  const { payments, anomalies } = fixture.store
  const attempt = { number: 2, account_id: 'second', created_at: CREATED_AT }
  const booked = { status: 'success', restored: 'booked', attempt } as const
  const payment = await payments.insert(newDeposit({ ...booked, effects: [] }))
  const { merchant_id, environment, payment_id } = payment
  await recordAnomaly(anomalies, {
    merchant_id,
    environment,
    payment_id,
    anomaly_id: 'a',
    attempt_number: 1,
    kind: 'not_found_at_provider',
    description: '',
    created_at: CREATED_AT,
  })
  const deps = { anomalies, payments, runner: fixture.runner(), sendsCallbacks: () => true }
  const decide = (kind: ResolveAnomalyRequest['kind']) => {
    const amount = kind === 'paid' ? { minor: payment.amount, currency: 'INR' } : undefined
    return resolveAnomaly(deps, { anomaly_id: 'a', kind, amount, operation_id: 'op', note: '' })
  }
  const read = () => payments.get(keyOfPayment(payment))
  await expect(decide('not_paid')).rejects.toMatchObject({ code: 8801 })
  expect(await read()).toMatchObject(booked)
  for (const _ of [1, 2]) {
    expect(await decide('paid')).toMatchObject({ resolution: { kind: 'paid', operation_id: 'op' } })
    // The other accounts are asked on, and nothing is booked or announced again.
    const paid = {
      status: 'success',
      restored: 'asking_accounts',
      attempt: { number: 1, account_id: 'first' },
    }
    expect(await read()).toMatchObject({ ...paid, effects: [] })
  }
})
