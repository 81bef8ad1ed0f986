import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import type { CallResult } from '../domain/call-result.ts'
import { endByOperator } from '../domain/end-without-report.ts'
import { requireAdmitted } from '../domain/payment.ts'
import { createAtProviderEffect, repeatCreateEffect } from '../domain/payment-effects.ts'
import { applyRefundHold, beginApproval, decideReservation } from '../domain/refund-transitions.ts'
import { FINGERPRINT, newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { bindRepeatCreate } from './create-at-provider.ts'
import { applyResult } from './provider-call.ts'
import { bindRecordAnomaly } from './report-to-operator.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

let fixture: PaymentsFixture
beforeAll(async () => {
  fixture = await openPayments()
})
afterAll(async () => await fixture[Symbol.asyncDispose]())

// P4, P7
test.each(['operator', 'provider'])(
  'a repeated refund that succeeds after the %s has failed it is an anomaly',
  async (decides) => {
    const at = now()
    const refund_id = `refund-${decides}`
    const paid = newDeposit({ c_id: decides, status: 'success', effects: [] })
    const request = { refund_id, c_id: 'c', amount: 400n, reason: '' }
    const begun = beginApproval(
      decideReservation(paid, request, at).payment,
      refund_id,
      at,
      FINGERPRINT,
    ).payment
    const hold = { refund_id, hold_id: `${refund_id}:hold:1`, refused_code: undefined }
    const { effects, ...approved } = applyRefundHold(begun, hold, at)
    const repeat = repeatCreateEffect.newEffect(paid, { refund_id }, { at })
    const waiting = [...effects.filter((effect) => !createAtProviderEffect.matches(effect)), repeat]
    const success: CallResult = {
      kind: 'success',
      provider_id: 'p-9',
      amount: { minor: 400n, currency: 'INR' },
      completed_at: at,
    }
    const connector = scriptedConnector(
      async () => {
        const decision = { decision: 'a:1', is_paid: false, at: now(), sends_callbacks: true }
        const decline = applyResult({ refund_id }, { kind: 'declined', code: 6044 }, 0)
        await runner.update(keyOfPayment(paid), (current) => {
          const payment = requireAdmitted(current)
          return decides === 'operator' ? endByOperator(payment, refund_id, decision) : decline(payment)
        })
        return success
      },
      { idempotency_window_ms: Number.POSITIVE_INFINITY },
    )
    const { anomalies } = fixture.store
    const runner = fixture.runner([bindRepeatCreate(connector.deps()), bindRecordAnomaly(anomalies)])
    await runner.runEffects(await runner.insert({ ...approved, effects: waiting }))
    const left = await fixture.store.payments.get(keyOfPayment(paid))
    expect(left).toMatchObject({ status: 'success', refunds: [{ state: 'failed' }] })
    expect(left?.effects.filter(repeatCreateEffect.matches)).toEqual([])
    expect(await anomalies.find('by_created', {}, { limit: 10 })).toContainEqual(
      expect.objectContaining({ refund_id, kind: 'contradicts_final_status' }),
    )
  },
)

test('a repeated refund that a crash left behind ends with its refund, also without its account', async () => {
  const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'reset' }))
  const bound = bindRepeatCreate(
    deps({
      accountOf() {
        throw new Error('the provider account first is no longer configured')
      },
    }),
  )
  const payment = newDeposit({ status: 'success', effects: [] })
  const effect = { ...repeatCreateEffect.newEffect(payment, { refund_id: 'ended' }, { at: now() }), tries: 2 }
  const change = await bound.run(effect, { ...payment, version: 2 })
  expect(change(payment)).toBe(payment)
})
