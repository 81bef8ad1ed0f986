import { expect, test } from '@jest/globals'
import { now, useClock } from '#lib/base/time.ts'
import { createClockGuard } from '#lib/patterns/clock-guard.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { lastingRun } from '../../../test/support/runs.ts'
import { applyProviderUpdate } from '../domain/apply-provider-update.ts'
import type { LookupResult } from '../domain/call-result.ts'
import { type Payment, requireAdmitted } from '../domain/payment.ts'
import { expirePaymentEffect } from '../domain/payment-effects.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { bindExpirePayment } from './ask-provider.ts'
import type { ProviderCallDeps } from './provider-call.ts'
import { bindRecordAnomaly } from './report-to-operator.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const MINUTE_MS = 60_000

/** Runs the expiry of an open deposit, whose provider gives this answer when it is asked once more. */
async function expire(answer: LookupResult, changes: Partial<ProviderCallDeps> = {}): Promise<Payment> {
  const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }), {
    lookUp: async () => answer,
  })
  const at = now()
  const created_at = new Date(at.getTime() - 31 * MINUTE_MS)
  const payment = newDeposit({ status: 'processing', created_at, expires_at: at, effects: [] })
  const expiry = expirePaymentEffect.newEffect(payment, {}, { at })
  const change = await bindExpirePayment(deps(changes)).run(expiry, { ...payment, version: 2 })
  return requireAdmitted(change(payment))
}

const UNKNOWN_THERE: LookupResult = { kind: 'not_found' }

// P8
test('a deposit that its provider calls paid only when it is asked once more is a success', async () => {
  const amount = { minor: 150_000n, currency: 'INR' }
  const paid: LookupResult = { kind: 'success', provider_id: 'p-1', amount, completed_at: now() }
  expect(await expire(paid)).toMatchObject({ status: 'success', p_id: 'p-1' })
})

// P8
test('a deposit that its provider does not know is declined at its expiry', async () => {
  expect(await expire(UNKNOWN_THERE)).toMatchObject({ status: 'declined', error_code: 6011 })
})

// P7, P8
test('a success that the last question finds is an anomaly when the payment has ended without it meanwhile', async () => {
  await using fixture = await openPayments()
  const { payments, anomalies } = fixture.store
  const at = now()
  const created_at = new Date(at.getTime() - 31 * MINUTE_MS)
  const payment = newDeposit({ status: 'processing', created_at, expires_at: at, effects: [] })
  const amount = { minor: payment.amount, currency: payment.currency }
  const canceled = { attempt_number: 1, result: { kind: 'canceled', code: 6012 }, at, poll_at: at } as const
  const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }), {
    async lookUp() {
      await runner.update(keyOfPayment(payment), (current) =>
        applyProviderUpdate(requireAdmitted(current), canceled),
      )
      return { kind: 'success', provider_id: 'p-1', amount, completed_at: at }
    },
  })
  const runner = fixture.runner([bindExpirePayment(deps()), bindRecordAnomaly(anomalies)])
  const effects = [expirePaymentEffect.newEffect(payment, {}, { at })]
  await runner.runEffects(await runner.insert({ ...payment, effects }))
  const left = await payments.get(keyOfPayment(payment))
  expect(left).toMatchObject({ status: 'canceled' })
  expect(left?.effects.filter(expirePaymentEffect.matches)).toEqual([])
  expect(await anomalies.find('by_created', {}, { limit: 10 })).toMatchObject([
    { payment_id: payment.payment_id, kind: 'contradicts_final_status' },
  ])
})

// P8
test('a deposit whose account is gone counts as one whose provider did not respond', async () => {
  const accountOf = () => {
    throw new Error('the account is no longer configured')
  }
  expect(await expire(UNKNOWN_THERE, { accountOf })).toMatchObject({
    status: 'processing',
    effects: [{ kind: expirePaymentEffect.kind }],
  })
})

// P8, R8
test('a sweeper whose clock is 31 minutes ahead does not decline a deposit that has 30 minutes left', async () => {
  const measuring = createClockGuard()
  await measuring.start(async () => new Date(Date.now()))
  let checks = 0
  const runs = {
    ...lastingRun,
    mayAct() {
      checks += 1
      return measuring.isTrusted()
    },
  }
  await using fixture = await openPayments()
  const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }))
  const at = new Date(Date.now())
  const expires_at = new Date(at.getTime() + 30 * MINUTE_MS)
  const payment = newDeposit({ status: 'processing', created_at: at, expires_at, effects: [] })
  const expiry = expirePaymentEffect.newEffect(payment, {}, { at, due_at: expires_at })
  const { payments } = fixture.store
  await fixture.runner().insert({ ...payment, effects: [expiry] })
  const runner = fixture.runner([bindExpirePayment(deps())], { runs, sweep_ms: 20 })
  const adjustable = createAdjustableClock()
  adjustable.stepWall(31 * MINUTE_MS)
  const restoreClock = useClock(adjustable)
  const { merchant_id, environment, c_id } = payment
  const stored = () => payments.get({ merchant_id, environment, c_id })
  try {
    runner.start()
    // One sweep that acts has fewer checks than this.
    await eventually(
      async () => checks,
      (count) => (count ?? 0) >= 20,
    )
    expect(await stored()).toMatchObject({ status: 'processing', effects: [{ tries: 0 }] })
  } finally {
    measuring.stop()
    await runner.stop()
    restoreClock()
  }
})
