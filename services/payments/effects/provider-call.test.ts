import { create, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { now } from '#lib/base/time.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { ProviderOrder } from '../connectors/connector.ts'
import { admitWithdrawal } from '../domain/hold-decision.ts'
import type { Payment, Refund, StoredPayment } from '../domain/payment.ts'
import {
  createAtProviderEffect,
  findRestoredEffect,
  pollProviderEffect,
  repeatCreateEffect,
} from '../domain/payment-effects.ts'
import { FINGERPRINT, newDeposit, newReservation } from '../payment.fixture.ts'
import { bindFindRestored, bindPollProvider } from './ask-provider.ts'
import { bindCreateAtProvider, bindRepeatCreate } from './create-at-provider.ts'
import type { ProviderCallDeps } from './provider-call.ts'
import { scriptedConnector } from './scripted-connector.fixture.ts'

/** The record of an attempt that was sent. */
const SENT = { number: 1, account: { fingerprint: FINGERPRINT, at: now() } }
const ELSEWHERE = { number: 1, account: { fingerprint: 'another account', at: now() } }

const CONTACT = { email: 'a@example.com', phone: '+915550100' }

function detailsOf(role: 'payer' | 'receiver') {
  const person = { firstName: 'A', lastName: 'B' }
  const customer = { ...CONTACT, person, customerAccount: { id: 'customer-77' } }
  return { details: toBinary(MerchantDetailsSchema, create(MerchantDetailsSchema, { [role]: customer })) }
}

test.each<[string, Payment, object]>([
  ['payer', newDeposit(detailsOf('payer')), { customer_account_id: 'customer-77' }],
  [
    'beneficiary',
    admitWithdrawal(newReservation(detailsOf('receiver')), now()),
    { account_id: '123456789012', ifsc: 'SBIN0001234' },
  ],
])('the provider gets the e-mail address, the phone and the name of the %s', async (field, payment, more) => {
  const orders: ProviderOrder[] = []
  const { deps } = scriptedConnector((_account_id, order) => {
    orders.push(order)
    return { kind: 'unknown', reason: 'reset' }
  })
  const effect = { ...createAtProviderEffect.newEffect(payment, {}, { at: now() }), tries: 1 }
  await bindCreateAtProvider(deps()).run(effect, { ...payment, version: 1 })
  const person = { ...CONTACT, first_name: 'A', last_name: 'B', ...more }
  expect(orders).toEqual([expect.objectContaining({ [field]: person })])
})

// P4, S9
test('a refund of a deposit that was paid at an earlier account is polled and repeated at that account', async () => {
  const at = now()
  const refund: Refund = {
    refund_id: 'r',
    amount: 400n,
    state: 'approved',
    change_number: 2,
    holds: 1,
    created_at: at,
    approved_at: at,
  }
  const payment = newDeposit({
    status: 'success',
    provider_accounts: ['first', 'second'],
    attempt: { number: 2, account_id: 'second', created_at: at },
    // The operator has found that the first account was paid. It must not keep the refund from being repeated.
    earlier_successes: [1],
    paid_attempt: 1,
    refunds: [refund],
    effects: [],
  })
  const asked: string[] = []
  const connector = scriptedConnector(
    () => ({ kind: 'unknown', reason: 'reset' }),
    { idempotency_window_ms: Number.POSITIVE_INFINITY },
    (account_id) => ({
      async lookUp({ idempotency_key }) {
        asked.push(`${account_id} ${idempotency_key}`)
        return { kind: 'not_found' }
      },
    }),
  )
  const key = `${payment.payment_id}:refund:r`
  const poll = pollProviderEffect.newEffect(payment, { refund_id: 'r' }, { at })
  const polled = (await bindPollProvider(connector.deps()).run(poll, { ...payment, version: 1 }))(payment)
  expect(asked).toEqual([`first ${key}`])
  const repeat = polled.effects.find(repeatCreateEffect.matches)
  if (!repeat) throw new Error('the refund is not repeated')
  await bindRepeatCreate(connector.deps()).run(repeat, { ...polled, version: 1 })
  expect(connector.creates).toMatchObject([
    { account_id: 'first', idempotency_key: key, deposit_idempotency_key: `${payment.payment_id}:1` },
  ])
})

// P19
test('of a restored payment, no create is sent as for the first time, and none is repeated before all accounts have answered', async () => {
  const { deps, creates } = scriptedConnector(() => ({ kind: 'unknown', reason: 'reset' }), {
    idempotency_window_ms: Number.POSITIVE_INFINITY,
  })
  for (const restored of ['asking_accounts', 'accounts_answered'] as const) {
    const payment = { ...newDeposit({ status: 'processing', created_at: now(), restored }), version: 1 }
    const create = { ...createAtProviderEffect.newEffect(payment, {}, { at: now() }), tries: 1 }
    await bindCreateAtProvider(deps()).run(create, payment)
    expect(creates).toEqual([])
    const repeat = repeatCreateEffect.newEffect(payment, {}, { at: now() })
    await bindRepeatCreate(deps()).run(repeat, payment)
    expect(creates.length).toBe(restored === 'accounts_answered' ? 1 : 0)
  }
  expect(creates).toMatchObject([{ earlier_result_unknown: true }])
})

// P19
test('a restored refund is looked up at the account that was paid, and not before that is known', async () => {
  const at = now()
  const asked: string[] = []
  const { deps } = scriptedConnector(
    () => ({ kind: 'unknown', reason: 'reset' }),
    {},
    (account_id) => ({
      async lookUp({ idempotency_key }) {
        asked.push(`${account_id} ${idempotency_key}`)
        return { kind: 'not_found' }
      },
    }),
  )
  const state = { state: 'approved', change_number: 2, holds: 1, created_at: at, approved_at: at } as const
  const refunds = [{ refund_id: 'r', amount: 400n, ...state, restored: 'asking_accounts' } as const]
  for (const restored of ['booked', 'asking_accounts'] as const) {
    const payment = newDeposit({ status: 'success', restored, refunds, effects: [] })
    const find = findRestoredEffect.newEffect(payment, { refund_id: 'r', since: at }, { at })
    await bindFindRestored(deps()).run({ ...find, tries: 1 }, { ...payment, version: 1 })
    expect(asked).toEqual(restored === 'booked' ? [] : [`first ${payment.payment_id}:refund:r`])
  }
})

// P19
test('an account that is no longer configured has not answered for a restored payment', async () => {
  const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'reset' }))
  const { accountOf } = deps()
  for (const is_configured of [true, false]) {
    const payment = newDeposit({ status: 'processing', restored: 'asking_accounts' })
    const since = new Date(now().getTime() - 90_000)
    const find = findRestoredEffect.newEffect(payment, { since }, { at: since })
    const unconfigured = {
      accountOf() {
        throw new Error('the provider account first is no longer configured')
      },
    }
    const bound = bindFindRestored(deps(is_configured ? { accountOf } : unconfigured))
    const change = await bound.run({ ...find, tries: 1 }, { ...payment, version: 1 })
    expect(change(payment)).toMatchObject({
      restored: is_configured ? 'accounts_answered' : 'asking_accounts',
    })
  }
})

// P4
test.each<[string, Partial<Payment>, { readonly is_moved?: true }, readonly ('create' | 'repetition')[]]>([
  ['while no account has reported the payment', {}, {}, ['create', 'repetition']],
  ['once its account has reported it', { attempts: [{ ...SENT, provider_id: 'p-1' }] }, {}, []],
  ['once another account has called it pending', { pending_elsewhere: [2] }, {}, ['create']],
  ['once another account has paid it', { earlier_successes: [2] }, {}, ['create']],
  ['when the ledger may have refused it', { attempts: [{ ...SENT, is_hold_unknown: true }] }, {}, ['create']],
  ['while what it needs is at another account', {}, { is_moved: true }, []],
  ['to another account than its record says', { attempts: [ELSEWHERE] }, {}, []],
])('what is sent %s', async (_when, changes, { is_moved = false }, sent) => {
  const connector = scriptedConnector(() => ({ kind: 'unknown', reason: 'reset' }), {
    idempotency_window_ms: Number.POSITIVE_INFINITY,
  })
  const deps = connector.deps({ isMoved: async () => is_moved })
  const payment = newDeposit({ attempts: [SENT], ...changes })
  const run = async (bound: BoundEffect<StoredPayment>, { newEffect }: typeof createAtProviderEffect) => {
    const effect = { ...newEffect(payment, {}, { at: now() }), tries: 1 }
    await bound.run(effect, { ...payment, version: 1 })
  }
  await run(bindCreateAtProvider(deps), createAtProviderEffect)
  const creates = connector.creates.length
  await run(bindRepeatCreate(deps), repeatCreateEffect)
  expect([creates, connector.creates.length - creates]).toEqual([
    sent.includes('create') ? 1 : 0,
    sent.includes('repetition') ? 1 : 0,
  ])
})

// P4
test('"not found" says nothing while the account has moved, nor of what another process has sent elsewhere since', async () => {
  const { deps } = scriptedConnector(() => ({ kind: 'unknown', reason: 'reset' }), {
    idempotency_window_ms: Number.POSITIVE_INFINITY,
  })
  const payment = newDeposit({ status: 'processing', attempts: [SENT], effects: [] })
  const poll = pollProviderEffect.newEffect(payment, {}, { at: now() })
  const ask = (changes: Partial<ProviderCallDeps> = {}) =>
    bindPollProvider(deps(changes)).run({ ...poll, tries: 1 }, { ...payment, version: 1 })
  expect((await ask({ isMoved: async () => true }))(payment)).toBe(payment)
  const change = await ask()
  expect(change(payment).effects.map(({ kind }) => kind)).toEqual([repeatCreateEffect.kind])
  const sent_since = { ...payment, attempts: [ELSEWHERE] }
  expect(change(sent_since)).toBe(sent_since)
})
