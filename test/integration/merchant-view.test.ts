import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { doorOf, type TestDoor } from '../../services/backoffice/backoffice.fixture.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let door: TestDoor
let shop: SupportClient
let merchant: string
let operator: string
beforeAll(async () => {
  system = await startSupport()
  door = doorOf(system.roles)
  shop = await system.newMerchant()
  merchant = (await door.newPrincipal(['read', 'reveal'], shop.merchant_id)).token
  operator = (await door.newPrincipal(['read'])).token
})
afterAll(async () => system[Symbol.asyncDispose]())

// O2
test('a merchant reads its routes without where their payments are sent', async () => {
  const question = { serviceId: String(shop.service_id), amount: '1000908', merchantId: shop.merchant_id }
  for (const [rpc, request] of [
    ['multihub.merchants.v1.RouteService/ListRoutes', { merchantId: shop.merchant_id }],
    ['multihub.merchants.v1.RouteService/GetRoute', { serviceId: question.serviceId }],
    ['multihub.payments.v1.PaymentService/ExplainRoute', question],
  ] as const) {
    expect(JSON.stringify((await door.call(operator, rpc, request)).body)).toContain('sandbox')
    for (const asked of [request, { ...request, asMerchant: false }]) {
      const { status, body } = await door.call(merchant, rpc, asked)
      expect([status, JSON.stringify(body)]).toEqual([200, expect.not.stringContaining('sandbox')])
      expect(JSON.stringify(body)).toContain('upi')
    }
  }
})

// O2
test('a merchant reads no anomaly: it names provider accounts and holds notes of the operator', async () => {
  for (const rpc of ['ListAnomalies', 'GetAnomaly']) {
    const name = `multihub.payments.v1.PaymentService/${rpc}`
    const { body } = await door.call(merchant, name, rpc === 'GetAnomaly' ? { anomalyId: 'a' } : {})
    expect(body.code).toBe('permission_denied')
  }
})
