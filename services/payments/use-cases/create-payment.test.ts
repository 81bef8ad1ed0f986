import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AMOUNT_MAX } from '#lib/contract/money.ts'
import { isUuid, numericIds } from '#lib/platform/ids.ts'
import { Ambiguous } from '#lib/platform/store/errors.ts'
import { openPayments, type PaymentsFixture } from '../payments.fixture.ts'
import { type CreateParts, type CreateRequest, createPayment, type PaymentRoute } from './create-payment.ts'

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
  enabled: true,
}

let fixture: PaymentsFixture
let made = 0

beforeAll(async () => {
  fixture = await openPayments()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

function partsWith(route: Partial<PaymentRoute> = {}): CreateParts {
  return {
    payments: fixture.store.payments,
    runner: fixture.runner(),
    route: async (service_id) => (service_id === ROUTE.service_id ? { ...ROUTE, ...route } : undefined),
    hasAccount: (account_id, environment, connector) =>
      account_id === 'sandbox' && environment === 'test' && connector === 'sandbox',
    nextNumericId: numericIds(42),
  }
}

function request(changes: Partial<CreateRequest> = {}): CreateRequest {
  return {
    merchant_id: '7001',
    environment: 'test',
    policy: { service_ids: [], currencies: [] },
    service_id: '501',
    direction: 'in',
    c_id: `order-${++made}`,
    amount: 150_000n,
    currency: 'INR',
    ...changes,
  }
}

const stored = ({ merchant_id, environment, c_id }: CreateRequest) =>
  fixture.store.payments.get({ merchant_id, environment, c_id })

/** What is wrong, in the order in which it is reported (E9): each row is reported before all that follow. */
const REFUSALS: readonly (readonly [string, number, Partial<CreateRequest>, Partial<PaymentRoute>])[] = [
  ['a route that is not there', 1004, { service_id: '999' }, {}],
  ['the route of another merchant', 1004, {}, { merchant_id: '7002' }],
  ['a route of the other environment', 1004, {}, { environment: 'production' }],
  ['a route that the credential may not use', 3008, { policy: { service_ids: ['502'], currencies: [] } }, {}],
  ['a currency that it may not use', 3008, { policy: { service_ids: [], currencies: ['TRY'] } }, {}],
  ['a withdrawal on a route for deposits', 1008, { direction: 'out' }, {}],
  ['a disabled route', 1002, {}, { enabled: false }],
  ['an account that is not configured', 1002, {}, { provider_accounts: ['sandbox', 'gone'] }],
  ['no account at all', 1002, {}, { provider_accounts: [] }],
  ['less than the minimum', 6001, { amount: 99n }, {}],
  ["a currency that is not the route's", 6002, { currency: 'TRY' }, {}],
]

describe('a create is refused, and nothing is kept, for', () => {
  test.each(REFUSALS)('%s: %d', async (_what, code, asked, route) => {
    const refused = request(asked)
    await expect(createPayment(partsWith(route), refused)).rejects.toMatchObject({ code })
    expect(await stored(refused)).toBeUndefined()
  })

  test.each([0n, -1n, AMOUNT_MAX + 1n])('an amount of %d, whatever the minimum: 6001', async (amount) => {
    const refused = createPayment(partsWith({ minimum_amount: 0n }), request({ amount }))
    await expect(refused).rejects.toMatchObject({
      code: 6001,
      details: { description: 'params.payment.amount.value' },
    })
  })
})

test('of several faults the one that stands first is reported', async () => {
  for (const [position, [, code, asked, route]] of REFUSALS.entries()) {
    for (const [, , asked_later, route_later] of REFUSALS.slice(position)) {
      // A request has one policy and one currency: the earlier fault wins where both are in the same field.
      const both = createPayment(
        partsWith({ ...route_later, ...route }),
        request({ ...asked_later, ...asked }),
      )
      await expect(both).rejects.toMatchObject({ code })
    }
  }
})

describe('a payment that is created', () => {
  test('is stored with what was asked, its route, its attempt, its expiry and its event', async () => {
    const asked = request({
      description: 'two shirts',
      payer: { email: 'a@example.com' },
      on_success: 'https://shop.example.com/ok',
      webhook: { url: 'https://shop.example.com/callbacks', sealed_secret: 'sealed' },
    })
    const { policy: _policy, ...kept } = asked
    const payment = await createPayment(partsWith(), asked)
    expect(await stored(asked)).toEqual(payment)
    expect(payment).toMatchObject({ ...kept, state: 'created', transition: 1, method: 'upi' })
    expect(payment).not.toHaveProperty('policy')
    expect(payment.attempt).toMatchObject({ number: 1, account_id: 'sandbox' })
    expect(payment.expires_at.getTime() - payment.created_at.getTime()).toBe(1_800_000)
    const { payment_id } = payment
    expect(payment.effects.map(({ id, kind }) => [id, kind])).toEqual([
      [`${payment_id}:create:1`, 'provider_create'],
      [`${payment_id}:expire`, 'expire'],
      [`${payment_id}:1:event`, 'publish_event'],
    ])
    expect(payment.effects[1]?.due_at).toEqual(payment.expires_at)
  })

  test('has a UUID, or 18 digits where its route says so, and is known inside by its UUID', async () => {
    const plain = await createPayment(partsWith(), request())
    expect(plain).toMatchObject({ h_id: plain.payment_id, ids: [plain.payment_id] })
    expect(isUuid(plain.h_id)).toBe(true)
    const numeric = await createPayment(partsWith({ numeric_h_id: true }), request())
    expect(numeric.h_id).toMatch(/^[1-9][0-9]{17}$/)
    expect(isUuid(numeric.payment_id)).toBe(true)
    expect(numeric.ids).toEqual([numeric.payment_id, numeric.h_id])
    expect(numeric.effects.every(({ id }) => id.startsWith(numeric.payment_id))).toBe(true)
  })
})

describe('a c_id that was used', () => {
  test('is 6009 with the h_id and the status of the payment, even for an exact retry', async () => {
    const asked = request()
    const { h_id } = await createPayment(partsWith(), asked)
    await expect(createPayment(partsWith(), asked)).rejects.toMatchObject({
      code: 6009,
      context: { h_id, status: 'created' },
    })
  })

  test('is one payment, however many ask for it at once', async () => {
    const asked = request()
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => createPayment(partsWith(), asked)),
    )
    const created = results.filter(({ status }) => status === 'fulfilled')
    expect(created).toHaveLength(1)
    const payment = await stored(asked)
    for (const result of results.filter(({ status }) => status === 'rejected')) {
      expect(result).toMatchObject({ reason: { code: 6009, context: { h_id: payment?.h_id } } })
    }
  })

  test('is free in the other environment and for another merchant', async () => {
    const asked = request()
    await createPayment(partsWith(), asked)
    await createPayment(partsWith({ merchant_id: '7002' }), { ...asked, merchant_id: '7002' })
    expect(await stored({ ...asked, merchant_id: '7002' })).toBeDefined()
  })

  test('by a write whose fate is unknown leaves its payment to be found, under a lease that runs out', async () => {
    const asked = request()
    const parts = partsWith()
    const { payments } = fixture.store
    const runner = {
      ...parts.runner,
      insert: async (...payment: Parameters<typeof payments.insert>) => {
        await parts.runner.insert(...payment)
        throw new Ambiguous('no answer in time')
      },
    }
    await expect(createPayment({ ...parts, runner }, asked)).rejects.toThrow(Ambiguous)
    expect(await stored(asked)).toMatchObject({ state: 'created', effects_due_at: expect.any(Date) })
    await expect(createPayment(parts, asked)).rejects.toMatchObject({ code: 6009 })
  })
})
