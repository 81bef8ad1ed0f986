import { describe, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import type { ProviderRecord } from '../domain/payment.ts'
import { createAtProviderEffect, pollProviderEffect, repeatCreateEffect } from '../domain/payment-effects.ts'
import { FINGERPRINT, newDeposit } from '../payment.fixture.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './create-at-provider.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

/** A deposit whose first attempt has this record; the account of the tests is `FINGERPRINT`. */
function depositOf(record: ProviderRecord = {}) {
  const created_at = now()
  return newDeposit({
    created_at,
    attempt: { number: 1, account_id: 'first', created_at },
    attempts: [{ number: 1, account: { fingerprint: FINGERPRINT, at: created_at }, ...record }],
    effects: [],
  })
}

/** What runs the effect of a deposit: how many creates left, and the deposit after it. */
async function run(effect: 'create' | 'repeat', deposit: ReturnType<typeof depositOf>, is_moved = false) {
  const connector = scriptedConnector(() => ({ kind: 'pending', provider_id: 'p-1' }), {
    idempotency_window_ms: Number.POSITIVE_INFINITY,
  })
  const deps = connector.deps({ isMoved: async () => is_moved })
  const definition = effect === 'create' ? createAtProviderEffect : repeatCreateEffect
  const bound = effect === 'create' ? bindCreateAtProvider(deps) : bindRepeatCreate(deps)
  const leased = { ...definition.newEffect(deposit, {}, { at: now() }), tries: 1 }
  const change = await bound.run(leased, { ...deposit, version: 1 })
  return { sent: connector.creates.length, after: change(deposit) }
}

// P4
describe.each(['create', 'repeat'] as const)('the %s of an attempt', (effect) => {
  test('is sent to the account that the attempt keeps', async () => {
    expect(await run(effect, depositOf())).toMatchObject({ sent: 1 })
  })

  // A confirmation covers what was sent before. A send that is not kept would be forgotten when the account moves on.
  test('is not sent while the attempt keeps another account, also when the operator has confirmed the move', async () => {
    const { sent } = await run(effect, depositOf({ account: { fingerprint: 'another', at: now() } }))
    expect(sent).toBe(0)
  })

  test('is not sent to an account that has moved', async () => {
    expect(await run(effect, depositOf(), true)).toMatchObject({ sent: 0 })
  })

  test('is not sent once the provider has reported the attempt', async () => {
    expect(await run(effect, depositOf({ provider_id: 'p-1' }))).toMatchObject({ sent: 0 })
  })

  test('is not sent for a restored payment that an account may have', async () => {
    expect(await run(effect, { ...depositOf(), restored: 'asking_accounts' })).toMatchObject({ sent: 0 })
  })
})

test('a create that is not sent is polled: the provider may have it', async () => {
  for (const record of [{ provider_id: 'p-1' }, { account: { fingerprint: 'another', at: now() } }]) {
    const { after } = await run('create', depositOf(record))
    expect(after).toMatchObject({ status: 'processing' })
    expect(after.effects.some(pollProviderEffect.matches)).toBe(true)
  }
})

test('a repetition is not sent while another account has reported the payment as pending', async () => {
  expect(await run('repeat', { ...depositOf(), pending_elsewhere: [2] })).toMatchObject({ sent: 0 })
})
