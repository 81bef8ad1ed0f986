import { expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { admitWithdrawal } from '../domain/hold-decision.ts'
import { pollProviderEffect } from '../domain/payment-effects.ts'
import { CREATED_AT, newReservation } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { bindRecordAnomaly, bindReportOpen } from './report-to-operator.ts'

const DAY_MS = 24 * 3_600_000

// P8
test('a withdrawal that is open after 24 hours is an anomaly once, not a moment earlier, and is still polled', async () => {
  const clock = createAdjustableClock()
  clock.stopWall(CREATED_AT.getTime())
  using _ = { [Symbol.dispose]: useClock(clock) }
  await using fixture = await openPayments()
  const { payments, anomalies } = fixture.store
  const admitted = admitWithdrawal({ ...newReservation(), effects: [] }, CREATED_AT)
  const poll = pollProviderEffect.newEffect(admitted, {}, { at: CREATED_AT })
  const report = admitted.effects.filter(({ lane }) => lane === 'independent')
  const runner = fixture.runner([bindReportOpen(), bindRecordAnomaly(anomalies)], { sweep_ms: 10 })
  const inserted = await runner.insert({ ...admitted, status: 'processing', effects: [poll, ...report] })
  const listed = () => anomalies.find('by_open', {}, { limit: 10 })
  const { merchant_id, environment, c_id } = inserted
  const stored = () => payments.get({ merchant_id, environment, c_id })
  clock.stepWall(DAY_MS - 1)
  expect((await runner.runEffects(inserted)).effects).toHaveLength(2)
  // A sweep finds what was due before the present millisecond.
  clock.stepWall(2)
  runner.start()
  await eventually(listed, (found = []) => found.length > 0)
  expect(await listed()).toMatchObject([{ kind: 'open_too_long', payment_id: inserted.payment_id }])
  await eventually(stored, (found) => found?.effects.length === 1)
  expect(await stored()).toMatchObject({ status: 'processing', effects: [{ kind: pollProviderEffect.kind }] })
})
