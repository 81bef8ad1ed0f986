import { expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { newAnomalyEffect } from '../domain/anomaly.ts'
import { CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { bindRecordAnomaly } from './report-to-operator.ts'

/** When the provider reported the success of a payment that was declined. */
const REPORTED_AT = new Date(CREATED_AT.getTime() + 60_000)

function newDepositWithAnomaly() {
  const payment = newDeposit({ status: 'declined', effects: [] })
  const { amount, currency } = payment
  const effect = newAnomalyEffect(payment, 'contradicts_final_status', {
    attempt_number: 1,
    result: {
      kind: 'success',
      provider_id: 'p-1',
      amount: { minor: amount, currency },
      completed_at: REPORTED_AT,
    },
    at: REPORTED_AT,
  })
  return { ...payment, effects: [effect] }
}

// P7
test('the anomaly has the time of the report, also when its first insert failed', async () => {
  await using fixture = await openPayments()
  const { anomalies } = fixture.store
  const insert = async () => {
    throw new Unavailable('store unavailable')
  }
  const runner = fixture.runner([bindRecordAnomaly({ ...anomalies, insert })])
  const failed = await runner.runEffects(await runner.insert(newDepositWithAnomaly()))
  const [effect] = failed.effects
  if (!effect) throw new Error('the failed effect is gone')
  await bindRecordAnomaly(anomalies).run(effect, failed)
  expect(await anomalies.find('by_created', {}, { limit: 2 })).toMatchObject([
    { kind: 'contradicts_final_status', created_at: REPORTED_AT },
  ])
})
