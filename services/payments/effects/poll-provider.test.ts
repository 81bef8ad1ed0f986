import { describe, expect, test } from '@jest/globals'
import type { CallResult } from '../domain/call-result.ts'
import { pollProviderEffect } from '../domain/payment-effects.ts'
import { CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { bindPollProvider } from './poll-provider.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

const NOT_SENT: CallResult = { kind: 'not_sent', reason: 'refused' }
const PENDING: CallResult = { kind: 'pending', provider_id: 'p-1' }

/** Polls a deposit that the provider does not know; a create gets `result`. */
async function pollUnknownDeposit(result: CallResult, create_is_idempotent: boolean) {
  const connector = scriptedConnector(() => result, { create_is_idempotent })
  const payment = newDeposit({ status: 'processing', effects: [] })
  const effect = pollProviderEffect.newEffect(payment, {}, { at: CREATED_AT })
  const change = await bindPollProvider(connector.deps()).run(effect, { ...payment, version: 2 })
  return { creates: connector.creates, payment: change(payment) }
}

// P4
describe('a poll of a payment that the provider does not know', () => {
  test('sends the create again under the same key where that is safe', async () => {
    const { creates, payment } = await pollUnknownDeposit(PENDING, true)
    expect(creates).toMatchObject([{ account_id: 'first', earlier_result_unknown: true, timeout_ms: 30_000 }])
    expect(payment).toMatchObject({ status: 'processing', p_id: 'p-1' })
  })

  test('does not move to another account when the repeated create was not sent', async () => {
    const { payment } = await pollUnknownDeposit(NOT_SENT, true)
    expect(payment).toMatchObject({ status: 'processing', attempt: { number: 1 } })
  })

  test('only polls again where a repetition is not safe', async () => {
    const { creates, payment } = await pollUnknownDeposit(PENDING, false)
    expect(creates).toEqual([])
    expect(payment).toMatchObject({ status: 'processing', effects: [{ kind: pollProviderEffect.kind }] })
  })
})
