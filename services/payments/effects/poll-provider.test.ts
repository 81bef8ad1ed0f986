import { describe, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { recordAnomalyEffect } from '../domain/anomaly.ts'
import type { CallResult } from '../domain/call-result.ts'
import type { Payment } from '../domain/payment.ts'
import { pollProviderEffect, repeatCreateEffect } from '../domain/payment-effects.ts'
import { newDeposit } from '../payment.fixture.ts'
import { bindPollProvider } from './ask-provider.ts'
import { bindRepeatCreate } from './create-at-provider.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const NOT_SENT: CallResult = { kind: 'not_sent', reason: 'refused' }
const PENDING: CallResult = { kind: 'pending', provider_id: 'p-1' }

const MINUTE_MS = 60_000

/**
 * Polls a deposit `age_ms` after its creation, and runs what follows. The provider does not know the deposit, and gives a
 * create `result`.
 */
async function pollUnknownDeposit(
  result: CallResult,
  idempotency_window_ms: number | undefined,
  age_ms = MINUTE_MS,
) {
  const connector = scriptedConnector(
    () => result,
    idempotency_window_ms === undefined ? {} : { idempotency_window_ms },
  )
  const created_at = new Date(now().getTime() - age_ms)
  const attempt = { number: 1, account_id: 'first', created_at }
  const payment = newDeposit({ status: 'processing', attempt, created_at, effects: [] })
  const effect = pollProviderEffect.newEffect(payment, {}, { at: created_at })
  const change = await bindPollProvider(connector.deps()).run(effect, { ...payment, version: 2 })
  const polled = change({ ...payment, effects: [effect] })
  const repeat = polled.effects.find(repeatCreateEffect.matches)
  if (repeat === undefined) return { creates: connector.creates, payment: polled }
  const applyRepeat = await bindRepeatCreate(connector.deps()).run(repeat, { ...polled, version: 3 })
  return { creates: connector.creates, payment: applyRepeat(polled) }
}

// P4
describe('a poll of a payment that the provider does not know', () => {
  test('sends the create again under the same key where that is safe', async () => {
    const { creates, payment } = await pollUnknownDeposit(PENDING, Number.POSITIVE_INFINITY)
    expect(creates).toMatchObject([{ account_id: 'first', earlier_result_unknown: true, timeout_ms: 30_000 }])
    expect(payment).toMatchObject({ status: 'processing', p_id: 'p-1' })
  })

  test('does not move to another account when the repeated create was not sent', async () => {
    const { payment } = await pollUnknownDeposit(NOT_SENT, Number.POSITIVE_INFINITY)
    expect(payment).toMatchObject({ status: 'processing', attempt: { number: 1 } })
  })

  test.each([
    ['an unlimited window', Number.POSITIVE_INFINITY, 365 * 24 * 60 * MINUTE_MS, 1],
    ['a window that ends after the request and the margin', 10 * MINUTE_MS, 8 * MINUTE_MS, 1],
    ['a window that may end before the request arrives', 10 * MINUTE_MS, 8.5 * MINUTE_MS, 0],
    ['a window that has ended', 10 * MINUTE_MS, 11 * MINUTE_MS, 0],
    ['a window of 0', 0, 0, 0],
    ['no window', undefined, 0, 0],
  ])('the number of repeated creates with %s', async (_name, window_ms, age_ms, count) => {
    const { creates } = await pollUnknownDeposit(PENDING, window_ms, age_ms)
    expect(creates).toHaveLength(count)
  })

  test('does not send it again when the repetition has waited until the window has ended', async () => {
    const connector = scriptedConnector(() => PENDING, { idempotency_window_ms: 10 * MINUTE_MS })
    const repeat = async (age_ms: number): Promise<number> => {
      const created_at = new Date(now().getTime() - age_ms)
      const attempt = { number: 1, account_id: 'first', created_at }
      const payment = newDeposit({ status: 'processing', attempt, created_at, effects: [] })
      const effect = repeatCreateEffect.newEffect(payment, {}, { at: created_at })
      await bindRepeatCreate(connector.deps()).run(effect, { ...payment, version: 2 })
      return connector.creates.length
    }
    expect(await repeat(10 * MINUTE_MS)).toBe(0)
    expect(await repeat(MINUTE_MS)).toBe(1)
  })

  test.each([{ pending_elsewhere: [1] }, { earlier_successes: [1] }])(
    'does not send it again while another account may have it: %j',
    async (elsewhere) => {
      const connector = scriptedConnector(() => PENDING, { idempotency_window_ms: Number.POSITIVE_INFINITY })
      const attempt = { number: 2, account_id: 'second', created_at: now() }
      const payment = newDeposit({ status: 'processing', attempt, effects: [], ...elsewhere })
      const effect = repeatCreateEffect.newEffect(payment, {}, { at: now() })
      await bindRepeatCreate(connector.deps()).run(effect, { ...payment, version: 2 })
      expect(connector.creates).toEqual([])
    },
  )

  test.each<[string, Partial<Payment>]>([
    ['has ended', { status: 'canceled' }],
    ['has gone to another attempt', { attempt: { number: 2, account_id: 'second', created_at: now() } }],
  ])('does not send it again when the payment %s since a crash', async (_what, changes) => {
    const connector = scriptedConnector(() => PENDING, { idempotency_window_ms: Number.POSITIVE_INFINITY })
    const payment = newDeposit({ status: 'processing', effects: [] })
    const effect = { ...repeatCreateEffect.newEffect(payment, {}, { at: now() }), tries: 2 }
    await bindRepeatCreate(connector.deps()).run(effect, { ...payment, ...changes, version: 2 })
    expect(connector.creates).toEqual([])
  })

  test('leaves the decision to the operator after the window, and polls again', async () => {
    const { payment } = await pollUnknownDeposit(PENDING, undefined, 6 * MINUTE_MS)
    expect(payment).toMatchObject({
      status: 'processing',
      effects: [
        { kind: pollProviderEffect.kind },
        {
          kind: recordAnomalyEffect.kind,
          data: {
            kind: 'not_found_at_provider',
            description:
              'attempt 1: provider account first does not know the attempt while the payment was processing',
          },
        },
      ],
    })
  })
})

test.each([
  ['payments', {}],
  ['refunds', { refund_id: 'r' }],
] as const)('%s that were created together are not polled together', (_what, data) => {
  using _clock = installManualClock()
  const { deps } = scriptedConnector(() => PENDING)
  const { lease_ms } = bindPollProvider(deps())
  if (typeof lease_ms === 'number') throw new Error('all intervals are the same')
  const created_at = now()
  const payment = newDeposit({
    attempt: { number: 1, account_id: 'first', created_at },
    updated_at: created_at,
    refunds: [{ refund_id: 'r', amount: 1n, state: 'approved', change_number: 2, holds: 1, created_at }],
  })
  const poll = pollProviderEffect.newEffect(payment, data, { at: created_at })
  const intervals = new Set(Array.from({ length: 100 }, () => lease_ms(payment, poll)))
  expect(intervals.size).toBeGreaterThan(50)
})
