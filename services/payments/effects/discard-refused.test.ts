import { expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { refuseWithdrawal } from '../domain/hold-decision.ts'
import { discardRefusedEffect } from '../domain/payment-effects.ts'
import { newDeposit, newReservation } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { bindRefusal } from './discard-refused.ts'

// P3
test('records a refused withdrawal at once without bank data, and deletes it after 60 seconds', async () => {
  using clock = installManualClock()
  await using fixture = await openPayments()
  const { payments, withdrawal_refusals } = fixture.store
  const refused = refuseWithdrawal({ ...newReservation(), effects: [] }, 6004, now())
  const runner = fixture.runner(bindRefusal(fixture.store))
  await runner.runEffects(await runner.insert(refused))
  const { merchant_id, payment_id, c_id, amount } = refused
  const record = await withdrawal_refusals.get({ merchant_id, payment_id })
  expect(record).toMatchObject({ merchant_id, payment_id, c_id, amount, error_code: 6004 })
  expect(Object.values(record ?? {})).not.toContain(refused.beneficiary?.account_id)
  const left = await payments.get(keyOfPayment(refused))
  expect(left?.independent_due_at).toEqual(new Date(now().getTime() + 60_000))
  await clock.advance(60_000)
  // The write of the unchanged document leases what is due, as a sweep does.
  const leased = await runner.update(keyOfPayment(refused), (current) => current)
  if (leased) await runner.runEffects(leased)
  expect(await payments.get(keyOfPayment(refused))).toBeUndefined()
})

test('never deletes the next payment under the c_id, nor a payment that is not refused', async () => {
  await using fixture = await openPayments()
  const { payments } = fixture.store
  const refused = refuseWithdrawal({ ...newReservation(), effects: [] }, 6004, now())
  const [, discard] = bindRefusal(fixture.store)
  const effect = refused.effects.find(discardRefusedEffect.matches)
  if (!effect || !discard) throw new Error('the withdrawal has no effect')
  const stale = await payments.insert(refused)
  await discard.run(effect, stale)
  const next = await payments.insert(newDeposit({ c_id: refused.c_id, effects: [] }))
  await expect(discard.run(effect, stale)).rejects.toThrow()
  const late = discardRefusedEffect.newEffect(next, {}, { at: now() })
  await expect(discard.run(late, next)).rejects.toThrow(/refused/)
  expect(await payments.get(keyOfPayment(refused))).toEqual(next)
})
