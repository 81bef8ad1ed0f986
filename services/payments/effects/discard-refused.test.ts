import { expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { refuseWithdrawal } from '../domain/hold-decision.ts'
import { discardRefusedEffect } from '../domain/payment-effects.ts'
import { newDeposit, newReservation } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { bindDiscardRefused } from './discard-refused.ts'

const refused = refuseWithdrawal({ ...newReservation(), effects: [] }, 6004, now())

// P3
test('deletes a refused withdrawal after a record of it, which has no bank data', async () => {
  await using fixture = await openPayments()
  const { payments, withdrawal_refusals } = fixture.store
  const runner = fixture.runner([bindDiscardRefused(fixture.store)])
  await runner.runEffects(await runner.insert(refused))
  expect(await payments.get(keyOfPayment(refused))).toBeUndefined()
  const { merchant_id, payment_id, c_id, amount } = refused
  const record = await withdrawal_refusals.get({ merchant_id, payment_id })
  expect(record).toMatchObject({ merchant_id, payment_id, c_id, amount, error_code: 6004 })
  expect(Object.values(record ?? {})).not.toContain(refused.beneficiary?.account_id)
})

test('goes on after a crash between the record and the deletion, with one record', async () => {
  await using fixture = await openPayments()
  const { payments } = fixture.store
  const fails = {
    ...fixture.store,
    payments: { ...payments, delete: async () => Promise.reject(new Error()) },
  }
  const crashing = fixture.runner([bindDiscardRefused(fails)])
  const left = await crashing.runEffects(await crashing.insert(refused))
  expect(left).toMatchObject({ status: 'refused', effects: [{ tries: 1 }] })
  const [effect] = left.effects
  if (!effect) throw new Error('the withdrawal has no effect')
  await bindDiscardRefused(fixture.store).run({ ...effect, tries: 2 }, left)
  expect(await payments.get(keyOfPayment(refused))).toBeUndefined()
})

test('never deletes the next payment under the c_id, nor a payment that is not refused', async () => {
  await using fixture = await openPayments()
  const { payments } = fixture.store
  const discard = bindDiscardRefused(fixture.store)
  const [effect] = refused.effects
  if (!effect) throw new Error('the withdrawal has no effect')
  const stale = await payments.insert(refused)
  await discard.run(effect, stale)
  const next = await payments.insert(newDeposit({ c_id: refused.c_id, effects: [] }))
  await expect(discard.run(effect, stale)).rejects.toThrow()
  const late = discardRefusedEffect.newEffect(next, {}, { at: now() })
  await expect(discard.run(late, next)).rejects.toThrow(/refused/)
  expect(await payments.get(keyOfPayment(refused))).toEqual(next)
})
