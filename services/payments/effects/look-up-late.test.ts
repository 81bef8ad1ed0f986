import { expect, test } from '@jest/globals'
import { useClock } from '#lib/platform/time.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { applyExpiry } from '../domain/apply-expiry.ts'
import type { LookupResult } from '../domain/call-result.ts'
import { lookUpLateEffect } from '../domain/payment-effects.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { bindLookUpLate } from './look-up-late.ts'
import { bindRecordAnomaly } from './record-anomaly.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const HOUR_MS = 3_600_000

const deposit = newDeposit({ status: 'processing', effects: [] })

/** The deposit as its expiry leaves it. */
function declined(sends_callbacks: boolean) {
  const at = deposit.expires_at
  const update = { attempt_number: 1, result: { kind: 'not_found' }, at, ask_again_at: at } as const
  return applyExpiry(deposit, { ...update, sends_callbacks })
}

// P7
test('a deposit that expired is looked up late only if its provider sends no callbacks', () => {
  expect(declined(true).effects.filter(lookUpLateEffect.matches)).toEqual([])
  const due_at = new Date(deposit.expires_at.getTime() + HOUR_MS)
  expect(declined(false).effects.filter(lookUpLateEffect.matches)).toMatchObject([{ due_at }])
})

test('a late lookup without a response is repeated until the provider responds', async () => {
  const amount = { minor: deposit.amount, currency: deposit.currency }
  const results: LookupResult[] = [
    { kind: 'unknown', reason: 'time-out' },
    { kind: 'success', provider_id: 'p-1', amount, completed_at: deposit.expires_at },
  ]
  const lookUp = async (): Promise<LookupResult> => results.shift() ?? { kind: 'not_found' }
  const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'unused' }), {
    lookUp,
    sends_callbacks: false,
  })
  const clock = createAdjustableClock()
  clock.stopWall(deposit.expires_at.getTime())
  using _ = { [Symbol.dispose]: useClock(clock) }
  await using fixture = await openPayments()
  const { payments, anomalies } = fixture.store
  const runner = fixture.runner([bindLookUpLate(deps()), bindRecordAnomaly(anomalies)], { sweep_ms: 10 })
  const late = declined(false).effects.filter(lookUpLateEffect.matches)
  const inserted = await runner.insert({ ...declined(false), effects: late })
  const stored = () => payments.get(keyOfPayment(inserted))
  runner.start()
  clock.stepWall(HOUR_MS + 1)
  await eventually(stored, (found) => found?.effects[0]?.failure !== undefined)
  expect(await anomalies.find('by_open', {}, { limit: 10 })).toEqual([])
  clock.stepWall(HOUR_MS)
  const found = await eventually(
    () => anomalies.find('by_open', {}, { limit: 10 }),
    (listed = []) => listed.length > 0,
  )
  expect(found).toMatchObject([{ kind: 'contradicts_final_status' }])
  const due_at = new Date(deposit.expires_at.getTime() + 24 * HOUR_MS)
  await eventually(stored, (payment) => payment?.effects.length === 1)
  expect(await stored()).toMatchObject({ status: 'declined', effects: [{ due_at, tries: 0 }] })
})
