import { expect, test } from '@jest/globals'
import { creditLedgerEffect } from '../domain/payment-effects.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { listStuckEffects } from './list-stuck-effects.ts'

const START = Date.UTC(2026, 10, 21)

test('lists stuck effects by pages of payments, the longest stuck first', async () => {
  await using fixture = await openPayments()
  const { payments } = fixture.store
  for (let number = 0; number < 5; number += 1) {
    const at = new Date(START + number)
    const deposit = newDeposit({ c_id: `stuck-${number}`, created_at: new Date(START - number) })
    const credit = creditLedgerEffect.newEffect(deposit, {}, { at })
    const effects = [{ ...credit, id: `${number}`, tries: 3, stuck: true }]
    await payments.insert({ ...deposit, effects, stuck_at: at })
  }
  const ids: string[] = []
  let token = ''
  do {
    const page = await listStuckEffects(payments, 2, token)
    ids.push(...page.stuck.map(({ effect }) => effect.id))
    token = page.next_page_token
  } while (token !== '')
  expect(ids).toEqual(['0', '1', '2', '3', '4'])
})
