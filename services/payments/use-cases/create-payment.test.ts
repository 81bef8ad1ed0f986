import { create, toBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { isUuid, numericIds } from '#lib/base/ids.ts'
import { AMOUNT_MAX, INT64_MAX } from '#lib/contract/money.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { Ambiguous } from '#lib/store/errors.ts'
import type { CreatePaymentRequest } from '../domain/new-payment.ts'
import type { PaymentRoute } from '../domain/payment.ts'
import { createAtProviderEffect, expirePaymentEffect } from '../domain/payment-effects.ts'
import { scriptedBalances } from '../effects/scripted-ledger.fixture.ts'
import { WITHDRAWAL_ROUTE } from '../payment.fixture.ts'
import { behindFormerPrimary, openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { type CreatePaymentDeps, createPayment } from './create-payment.ts'

const ROUTE: PaymentRoute = {
  service_id: '501',
  merchant_id: '7001',
  environment: 'test',
  direction: 'in',
  method: 'upi',
  currency: 'INR',
  connector: 'sandbox',
  provider_accounts: ['sandbox'],
  numeric_h_id: false,
  expires_in_seconds: 1_800,
  minimum_amount: 100n,
  withdrawal_limits: WITHDRAWAL_ROUTE.withdrawal_limits,
  enabled: true,
}

/** The smallest amount that needs room in the balance. */
const LARGE = 10n ** 15n

let fixture: PaymentsFixture
let requests = 0

beforeAll(async () => {
  fixture = await openPayments()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

function depsWith(route: Partial<PaymentRoute> = {}): CreatePaymentDeps {
  return {
    ...fixture.deps(),
    withdrawal_refusals: fixture.store.withdrawal_refusals,
    findRoute: async (service_id) => (service_id === ROUTE.service_id ? { ...ROUTE, ...route } : undefined),
    hasAccount: (account_id, { environment, connector }) =>
      account_id.startsWith('sandbox') && environment === 'test' && connector === 'sandbox',
    fingerprintOf: (account_id) => `the ${account_id}`,
    chooseAccounts: (account_ids) => ({
      account_ids: account_ids.filter((account_id) => !account_id.endsWith('-down')),
      giveBack: () => {},
    }),
    search: testKeys().search,
    balances: scriptedBalances(INT64_MAX - LARGE + 1n),
    nextNumericId: numericIds(42),
  }
}

function request(changes: Partial<CreatePaymentRequest> = {}): CreatePaymentRequest {
  requests += 1
  return {
    merchant_id: '7001',
    environment: 'test',
    policy: { service_ids: [], currencies: [] },
    service_id: '501',
    direction: 'in',
    c_id: `order-${requests}`,
    amount: 150_000n,
    currency: 'INR',
    ...changes,
  }
}

const stored = ({ merchant_id, environment, c_id }: CreatePaymentRequest) =>
  fixture.store.payments.get({ merchant_id, environment, c_id })

/** The refusals in the order of E9: each row takes precedence over all later rows. */
const REFUSALS: readonly (readonly [string, number, Partial<CreatePaymentRequest>, Partial<PaymentRoute>])[] =
  [
    ['an unknown route', 1004, { service_id: '999' }, {}],
    ['the route of another merchant', 1004, {}, { merchant_id: '7002' }],
    ['a route of the other environment', 1004, {}, { environment: 'production' }],
    [
      'a route that the credential may not use',
      3008,
      { policy: { service_ids: ['502'], currencies: [] } },
      {},
    ],
    ['a currency that the policy forbids', 3008, { policy: { service_ids: [], currencies: ['TRY'] } }, {}],
    ['a withdrawal on a route for deposits', 1008, { direction: 'out' }, {}],
    ['a disabled route', 1002, {}, { enabled: false }],
    ['an account that is not configured', 1002, {}, { provider_accounts: ['sandbox', 'gone'] }],
    ['a route without accounts', 1002, {}, { provider_accounts: [] }],
    ['an amount below the minimum', 6001, { amount: 99n }, {}],
    ['a currency other than that of the route', 6002, { currency: 'TRY' }, {}],
    ['an amount without room in the balance', 6001, { amount: LARGE }, {}],
    ['a route whose accounts are all known to be down', 7002, {}, { provider_accounts: ['sandbox-down'] }],
  ]

describe('refuses without storing anything', () => {
  // E9, P14
  test.each(REFUSALS)('%s, with %d', async (_what, code, changes, route) => {
    const refused = request(changes)
    await expect(createPayment(depsWith(route), refused)).rejects.toMatchObject({ code })
    expect(await stored(refused)).toBeUndefined()
  })

  test.each([0n, -1n, AMOUNT_MAX + 1n])(
    'an amount of %d with 6001, also without a minimum',
    async (amount) => {
      const refused = createPayment(depsWith({ minimum_amount: 0n }), request({ amount }))
      await expect(refused).rejects.toMatchObject({
        code: 6001,
        details: { description: 'params.payment.amount.value' },
      })
    },
  )
})

test('reports the first refusal in the order of E9 when several apply', async () => {
  for (const [position, [, code, changes, route]] of REFUSALS.entries()) {
    for (const [, , later_changes, later_route] of REFUSALS.slice(position)) {
      // Where both refusals change the same field, the earlier one is kept.
      const both = createPayment(
        depsWith({ ...later_route, ...route }),
        request({ ...later_changes, ...changes }),
      )
      await expect(both).rejects.toMatchObject({ code })
    }
  }
})

// E9
test('reports a duplicate before a balance without room, and before accounts that are known to be down', async () => {
  const input = request()
  await createPayment(depsWith(), input)
  const large = createPayment(depsWith(), { ...input, amount: LARGE })
  await expect(large).rejects.toMatchObject({ code: 6009 })
  const down = depsWith({ provider_accounts: ['sandbox-down'] })
  await expect(createPayment(down, input)).rejects.toMatchObject({ code: 6009 })
  const behind = { ...down, payments: behindFormerPrimary(fixture.store.payments) }
  await expect(createPayment(behind, input)).rejects.toMatchObject({ code: 6009 })
})

// P4
test('skips an account that is known to be down', async () => {
  const deps = depsWith({ provider_accounts: ['sandbox-down', 'sandbox', 'sandbox-2'] })
  expect(await createPayment(deps, request())).toMatchObject({
    provider_accounts: ['sandbox', 'sandbox-2'],
    attempt: { number: 1, account_id: 'sandbox' },
  })
})

describe('a new payment', () => {
  test('is stored with the fields of the request, its route, its attempt and its effects', async () => {
    const input = request({
      details: toBinary(MerchantDetailsSchema, create(MerchantDetailsSchema, { description: 'two shirts' })),
      webhook: { url: 'https://shop.example.com/callbacks', sealed_secret: 'sealed' },
    })
    const { policy: _policy, ...kept } = input
    const payment = await createPayment(depsWith(), input)
    expect(await stored(input)).toEqual(payment)
    expect(payment).toMatchObject({
      ...kept,
      status: 'created',
      history: [{ status: 'created' }],
      method: 'upi',
    })
    expect(payment).not.toHaveProperty('policy')
    expect(payment.attempt).toMatchObject({ number: 1, account_id: 'sandbox' })
    expect(payment.expires_at).toEqual(new Date(payment.created_at.getTime() + 1_800_000))
    const { payment_id } = payment
    expect(payment.effects.map(({ id, kind }) => [id, kind])).toEqual([
      [`${payment_id}:1:create`, createAtProviderEffect.kind],
      [`${payment_id}:created:event`, publishEventEffect.kind],
      [`${payment_id}:expire`, expirePaymentEffect.kind],
    ])
    expect(payment.effects[2]?.due_at).toEqual(payment.expires_at)
  })

  // P1
  test('has a UUID as h_id, or 18 digits if the route says so, and always a UUID as payment_id', async () => {
    const plain = await createPayment(depsWith(), request())
    expect(plain).toMatchObject({ h_id: plain.payment_id, ids: [plain.payment_id, `c:${plain.c_id}`] })
    expect(isUuid(plain.h_id)).toBe(true)
    const numeric = await createPayment(depsWith({ numeric_h_id: true }), request())
    expect(numeric.h_id).toMatch(/^[1-9][0-9]{17}$/)
    expect(isUuid(numeric.payment_id)).toBe(true)
    expect(numeric.ids).toEqual([numeric.payment_id, `c:${numeric.c_id}`, numeric.h_id])
    expect(numeric.effects.every(({ id }) => id.startsWith(numeric.payment_id))).toBe(true)
  })
})

describe('a used c_id', () => {
  // E11
  test('is refused with 6009, the h_id and the status, also for an exact retry', async () => {
    const input = request()
    const { h_id } = await createPayment(depsWith(), input)
    await expect(createPayment(depsWith(), input)).rejects.toMatchObject({
      code: 6009,
      context: { h_id, status: 'created' },
    })
  })

  // E11
  test.each([
    ['route', { service_ids: ['502'], currencies: [] }],
    ['currency', { service_ids: [], currencies: ['TRY'] }],
  ])('is refused without context when the credential may not read its %s', async (_what, policy) => {
    const input = request()
    await createPayment(depsWith(), input)
    const deps = depsWith()
    const other_route = { ...ROUTE, service_id: '502', currency: 'TRY' }
    const retry = createPayment(
      { ...deps, findRoute: async () => other_route },
      { ...input, service_id: '502', currency: 'TRY', policy },
    )
    await expect(retry).rejects.toMatchObject({ code: 6009, context: undefined })
  })

  test('belongs to one payment when many requests come at once', async () => {
    const input = request()
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => createPayment(depsWith(), input)),
    )
    const created = results.filter(({ status }) => status === 'fulfilled')
    expect(created).toHaveLength(1)
    const payment = await stored(input)
    for (const result of results.filter(({ status }) => status === 'rejected')) {
      expect(result).toMatchObject({ reason: { code: 6009, context: { h_id: payment?.h_id } } })
    }
  })

  test('can be used by another merchant', async () => {
    const input = request()
    await createPayment(depsWith(), input)
    await createPayment(depsWith({ merchant_id: '7002' }), { ...input, merchant_id: '7002' })
    expect(await stored({ ...input, merchant_id: '7002' })).toBeDefined()
  })

  test('is refused after an ambiguous write that succeeded, whose effects the sweeper runs', async () => {
    const input = request()
    const deps = depsWith()
    const { payments } = fixture.store
    const insert = async (...payment: Parameters<typeof payments.insert>) => {
      await payments.insert(...payment)
      throw new Ambiguous('no response in time')
    }
    const runner = fixture.runner([], { collection: { ...payments, insert } })
    await expect(createPayment({ ...deps, runner }, input)).rejects.toThrow(Ambiguous)
    expect(await stored(input)).toMatchObject({ status: 'created', external_due_at: expect.any(Date) })
    await expect(createPayment(deps, input)).rejects.toMatchObject({ code: 6009 })
  })
})
