import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { openTestStore } from '../../test/support/store.ts'
import { createTestGateway, send } from '../gateway.fixture.ts'
import { createMerchantRequests } from './merchant-requests.ts'

const merchant = (merchant_id: string, environment: 'test' | 'production' = 'test') => ({
  merchant_id,
  environment,
})

// E10
test('keeps a part of the limit for reads', () => {
  const requests = createMerchantRequests(3, 1)
  requests.begin(merchant('a'), false)
  requests.begin(merchant('a'), false)
  expect(() => requests.begin(merchant('a'), false)).toThrow(
    expect.objectContaining({
      code: 1000,
      http: 429,
      details: { bucket: 'concurrency', limit: 2, retry_after_seconds: 1 },
    }),
  )
  const endRead = requests.begin(merchant('a'), true)
  expect(() => requests.begin(merchant('a'), true)).toThrow(
    expect.objectContaining({ code: 1000, http: 429 }),
  )
  endRead()
  requests.begin(merchant('a'), true)
})

test('counts each merchant and each environment by itself', () => {
  const requests = createMerchantRequests(1, 0)
  requests.begin(merchant('a'), false)
  requests.begin(merchant('b'), false)
  const end = requests.begin(merchant('a', 'production'), false)
  expect(() => requests.begin(merchant('a', 'production'), false)).toThrow()
  end()
  requests.begin(merchant('a', 'production'), false)
})

test('never has more requests in progress than the limit, and allows again after they end', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 60, size: 'max' }), (begins) => {
      const requests = createMerchantRequests(4, 1)
      const ends: (() => void)[] = []
      for (const begin of begins) {
        if (!begin) ends.pop()?.()
        else if (ends.length < 3) ends.push(requests.begin(merchant('a'), false))
        else expect(() => requests.begin(merchant('a'), false)).toThrow()
      }
      for (const end of ends.splice(0)) end()
      for (let count = 0; count < 3; count += 1) requests.begin(merchant('a'), false)
    }),
  )
})

const BALANCE = { body: { method: 'balance.get', params: {} } }

test('keeps room for payment.status and balance.get next to a create that waits', async () => {
  const called = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const app = await createTestGateway({
    merchant_requests: createMerchantRequests(2, 1),
    payments: {
      async createPayment() {
        called.resolve()
        await gate.promise
        throw new PublicError(6009)
      },
      findPayment() {
        throw new PublicError(6010)
      },
    },
    balances: { getBalances: () => ({}) },
  })
  const payment = { identifiers: { c_id: 'a' }, amount: { value: 1, currency: 'INR' }, payer: {} }
  const create = { body: { method: 'payment.in', service_id: 501, params: { payment } } }
  const status = { body: { method: 'payment.status', params: { payment: { identifiers: { c_id: 'a' } } } } }
  const waiting = send(app, create)
  await called.promise
  const refused = await send(app, create)
  expect([refused.status, refused.body.error?.code, refused.headers['retry-after']]).toEqual([429, 1000, '1'])
  expect((await send(app, BALANCE)).body.success).toBe(true)
  expect((await send(app, status)).body.error?.code).toBe(6010)
  gate.resolve()
  expect((await waiting).body.error?.code).toBe(6009)
  expect((await send(app, create)).body.error?.code).toBe(6009)
})

test('a request is counted against its bucket and its day before it is refused', async () => {
  await using kept = await openTestStore()
  const called = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const app = await createTestGateway({
    store: kept.store,
    merchant_requests: createMerchantRequests(1, 0),
    credential: { dailyLimit: 3n, rateLimits: { 'balance.get': 2 } },
    balances: {
      async getBalances() {
        called.resolve()
        await gate.promise
        return {}
      },
    },
  })
  const waiting = send(app, BALANCE)
  await called.promise
  const refusals = [await send(app, BALANCE), await send(app, BALANCE), await send(app, BALANCE)]
  expect(refusals.map(({ body }) => [body.error?.code, body.error?.details?.['bucket']])).toEqual([
    [1000, 'concurrency'],
    [1000, 'balance.get'],
    [3009, 'daily'],
  ])
  gate.resolve()
  expect((await waiting).body.success).toBe(true)
})
