import { expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import type { ProviderOrder } from '../connectors/connector.ts'
import { admitWithdrawal } from '../domain/hold-decision.ts'
import type { Payment, Refund } from '../domain/payment.ts'
import { createAtProviderEffect, pollProviderEffect, repeatCreateEffect } from '../domain/payment-effects.ts'
import { newDeposit, newReservation } from '../payment.fixture.ts'
import { bindPollProvider } from './ask-provider.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './create-at-provider.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const PERSON = { email: 'a@example.com', phone: '+915550100', person: { first_name: 'A', last_name: 'B' } }

test.each<[string, Payment]>([
  ['payer', newDeposit({ payer: PERSON })],
  [
    'beneficiary',
    admitWithdrawal(newReservation({ beneficiary: { ...PERSON, account_id: '123456789012' } }), now()),
  ],
])('the provider gets the e-mail address, the phone and the name of the %s', async (field, payment) => {
  const orders: ProviderOrder[] = []
  const { deps } = scriptedConnector((_account_id, order) => {
    orders.push(order)
    return { kind: 'unknown', reason: 'reset' }
  })
  const effect = { ...createAtProviderEffect.newEffect(payment, {}, { at: now() }), tries: 1 }
  await bindCreateAtProvider(deps()).run(effect, { ...payment, version: 1 })
  const { email, phone, person } = PERSON
  expect(orders).toMatchObject([{ [field]: { email, phone, ...person } }])
})

// P4, S9
test('a refund of a deposit that was paid at an earlier account is polled and repeated at that account', async () => {
  const at = now()
  const refund: Refund = {
    refund_id: 'r',
    amount: 400n,
    state: 'approved',
    change_number: 2,
    holds: 1,
    created_at: at,
    approved_at: at,
  }
  const payment = newDeposit({
    status: 'success',
    provider_accounts: ['first', 'second'],
    attempt: { number: 2, account_id: 'second', created_at: at },
    // The operator has found that the first account was paid. It must not keep the refund from being repeated.
    earlier_successes: [1],
    paid_attempt: 1,
    refunds: [refund],
    effects: [],
  })
  const asked: string[] = []
  const connector = scriptedConnector(
    () => ({ kind: 'unknown', reason: 'reset' }),
    { idempotency_window_ms: Number.POSITIVE_INFINITY },
    (account_id) => ({
      async lookUp({ idempotency_key }) {
        asked.push(`${account_id} ${idempotency_key}`)
        return { kind: 'not_found' }
      },
    }),
  )
  const key = `${payment.payment_id}:refund:r`
  const poll = pollProviderEffect.newEffect(payment, { refund_id: 'r' }, { at })
  const polled = (await bindPollProvider(connector.deps()).run(poll, { ...payment, version: 1 }))(payment)
  expect(asked).toEqual([`first ${key}`])
  const repeat = polled.effects.find(repeatCreateEffect.matches)
  if (!repeat) throw new Error('the refund is not repeated')
  await bindRepeatCreate(connector.deps()).run(repeat, { ...payment, version: 1 })
  expect(connector.creates).toMatchObject([
    { account_id: 'first', idempotency_key: key, deposit_idempotency_key: `${payment.payment_id}:1` },
  ])
})
