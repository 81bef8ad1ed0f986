import { expect, test } from '@jest/globals'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { holdFundsEffect, postEntryEffect } from '../domain/payment-effects.ts'
import { bindHoldFunds, type LedgerClient } from '../effects/post-to-ledger.ts'
import { bindRecordAnomaly } from '../effects/report-to-operator.ts'
import { scriptedLedger } from '../effects/scripted-ledger.fixture.ts'
import { newDeposit, newReservation, WITHDRAWAL_ROUTE } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { resolveAnomaly } from './resolve-anomaly.ts'
import { retryEffect } from './retry-effect.ts'

const STUCK_AT = new Date('2026-11-21T12:00:00.000Z')

/** Stores a deposit whose credit of the ledger is stuck, with a runner that can post it. */
async function openStuckCredit(fixture: PaymentsFixture) {
  let posted = 0
  const runner = fixture.runner([
    postEntryEffect.bind({
      lease_ms: 60_000,
      tries_max: 3,
      async run() {
        posted += 1
        return (current) => current
      },
    }),
  ])
  const deposit = newDeposit({ effects: [] })
  const credit = postEntryEffect.newEffect(deposit, { posting: 'credit' }, { at: STUCK_AT })
  const effects = [{ ...credit, tries: 3, stuck: true }]
  await fixture.store.payments.insert({ ...deposit, effects, stuck_at: STUCK_AT })
  const retry = (id: string, effect_id = credit.id) =>
    retryEffect({ payments: fixture.store.payments, runner }, id, effect_id)
  return { deposit, retry, posted: () => posted }
}

test('runs a stuck effect again and returns the payment without it', async () => {
  await using fixture = await openPayments()
  const { deposit, retry, posted } = await openStuckCredit(fixture)
  const retried = await retry(deposit.payment_id)
  expect(retried.effects).toEqual([])
  expect(retried).not.toHaveProperty('stuck_at')
  expect(posted()).toBe(1)
})

test('refuses an unknown payment with 6010, an effect that is not stuck with 8801', async () => {
  await using fixture = await openPayments()
  const { deposit, retry } = await openStuckCredit(fixture)
  await expect(retry('unknown')).rejects.toMatchObject({ code: 6010 })
  await expect(retry(deposit.payment_id, 'unknown')).rejects.toMatchObject({ code: 8801 })
  await retry(deposit.payment_id)
  await expect(retry(deposit.payment_id)).rejects.toMatchObject({ code: 8801 })
})

test('retries once for two callers at the same time, and refuses the later one with 8801', async () => {
  await using fixture = await openPayments()
  const { deposit, retry, posted } = await openStuckCredit(fixture)
  const results = await Promise.allSettled([retry(deposit.payment_id), retry(deposit.payment_id)])
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  expect(refused).toEqual([expect.objectContaining({ code: 8801 })])
  expect(posted()).toBe(1)
})

// P3
test('returns no other payment that has taken the c_id of a withdrawal which the ledger then refused', async () => {
  await using fixture = await openPayments()
  const { payments } = fixture.store
  const withdrawal = newReservation()
  const [effect] = withdrawal.effects
  if (!effect) throw new Error('the withdrawal has no effect')
  const effects = [{ ...effect, tries: 10_000, stuck: true }]
  await payments.insert({ ...withdrawal, effects, stuck_at: STUCK_AT })
  const successor = newDeposit({ payment_id: 'another', h_id: 'another', effects: [] })
  const refuse = holdFundsEffect.bind<StoredPayment>({
    lease_ms: 60_000,
    tries_max: 3,
    async run(_effect, { version, ...document }) {
      await payments.delete(keyOfPayment(document), version)
      await payments.insert(successor)
      return (current) => current
    },
  })
  const retried = await retryEffect(fixture.deps([refuse]), withdrawal.payment_id, effect.id)
  expect(retried.payment_id).toBe(withdrawal.payment_id)
})

// P3
test('retries the stuck hold of a withdrawal, which is then admitted', async () => {
  await using fixture = await openPayments()
  const ledger = scriptedLedger()
  const hold = bindHoldFunds({ ledger: ledger.client, findRoute: async () => WITHDRAWAL_ROUTE })
  const withdrawal = newReservation()
  const [effect] = withdrawal.effects
  if (!effect) throw new Error('the withdrawal has no effect')
  const effects = [{ ...effect, tries: 10_000, stuck: true }]
  await fixture.store.payments.insert({ ...withdrawal, effects, stuck_at: STUCK_AT })
  const retried = await retryEffect(fixture.deps([hold]), withdrawal.payment_id, effect.id)
  expect(retried).toMatchObject({ status: 'created' })
})

// E6, P7
test.each<ErrorCode>([1013, 9000])(
  'a hold that the ledger refuses with %d is stuck after one try and an anomaly, until it is retried',
  async (code) => {
    await using fixture = await openPayments()
    const { payments, anomalies } = fixture.store
    const { client } = scriptedLedger()
    let refusal: Error | undefined = new PublicError(code)
    const ledger: LedgerClient = {
      ...client,
      placeHold: (...call) => (refusal ? Promise.reject(refusal) : client.placeHold(...call)),
    }
    const hold = bindHoldFunds({ ledger, findRoute: async () => WITHDRAWAL_ROUTE })
    const { runner } = fixture.deps([hold, bindRecordAnomaly(anomalies)])
    const withdrawal = await runner.runEffects(await runner.insert(newReservation()))
    expect(withdrawal).toMatchObject({ status: 'reserving', stuck_at: expect.any(Date) })
    expect(withdrawal.effects).toMatchObject([{ kind: holdFundsEffect.kind, tries: 1, stuck: true }])
    const { payment_id, merchant_id } = withdrawal
    const [anomaly, ...others] = await anomalies.find('by_open', {}, { limit: 2 })
    expect(others).toEqual([])
    expect(anomaly).toMatchObject({ merchant_id, payment_id, kind: 'ledger_refused' })
    expect(anomaly?.description).toContain(`:hold with ${code} while the payment was reserving`)

    // No money is held, so the operator ends nothing: what ends the withdrawal is the decision of the ledger.
    const resolve = (kind: 'not_paid' | 'dismissed') =>
      resolveAnomaly(
        { anomalies, payments, runner, sendsCallbacks: () => true },
        { anomaly_id: anomaly?.anomaly_id ?? '', kind, operation_id: kind, note: '' },
      )
    await expect(resolve('not_paid')).rejects.toMatchObject({ code: 6010 })
    expect(await resolve('dismissed')).toMatchObject({ resolution: { kind: 'dismissed' } })
    refusal = undefined
    const effect_id = withdrawal.effects[0]?.id ?? ''
    expect(await retryEffect({ payments, runner }, payment_id, effect_id)).toMatchObject({
      status: 'created',
    })
  },
)
