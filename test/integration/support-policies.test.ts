import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let shop: SupportClient
beforeAll(async () => {
  system = await startSupport()
  shop = await system.newMerchant()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

// A8
test('a restricted credential sees what its merchant has in support', async () => {
  const { c_id } = await shop.deposit()
  const { body } = await shop.call('refund.request', {
    identifiers: { c_id: randomUUID() },
    payment: { c_id },
  })
  const restricted = await system.newCredential(shop, { currencies: ['TRY'] })
  const { h_id } = body.result.identifiers
  expect((await restricted.call('refund.get', { identifiers: { h_id } })).body.result).toEqual(body.result)
})

/** The mutations that name a payment, with a valid request about it. */
const REQUESTS = [
  ['refund.request', (c_id: string) => ({ payment: { c_id } })],
  [
    'ticket.create',
    (c_id: string) => ({ payment: { c_id }, title: 't', description: 'd', category: 'dispute' }),
  ],
] as const

// S2, S8, A8
test.each(REQUESTS)(
  '%s needs a credential that may use the route and the currency of the payment',
  async (method, paramsOf) => {
    const { c_id } = await shop.deposit()
    const identifiers = { c_id: randomUUID() }
    const request = (of: SupportClient) => of.call(method, { identifiers, ...paramsOf(c_id) })
    const restricted = await system.newCredential(shop, { currencies: ['TRY'] })
    const refusal = { http_status: 403, body: { error: { code: 3008 } } }
    expect(await request(restricted)).toMatchObject(refusal)
    // The refusal has made nothing, and has freed the c_id.
    const permitted = await system.newCredential(shop, {
      currencies: ['INR'],
      serviceIds: [String(shop.service_id)],
    })
    expect(await request(permitted)).toMatchObject({ http_status: 200 })
  },
)
