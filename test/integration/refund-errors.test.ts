import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { type MethodName, SCOPES } from '#lib/contract/methods.ts'
import type { PublicResponse } from '../support/public-client.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let shop: SupportClient
/** A refund and a chargeback that exist nowhere. */
const NOTHING = randomUUID()

beforeAll(async () => {
  system = await startSupport()
  shop = await system.newMerchant()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

/** A method with a valid request, and the code with which it refuses a resource that does not exist. */
interface Row {
  readonly method: MethodName
  readonly params: () => object
  readonly absent_code?: number
  readonly is_mutation?: true
}

const refund = { h_id: NOTHING }
const ROWS: readonly Row[] = [
  {
    method: 'refund.request',
    params: () => ({ identifiers: { c_id: randomUUID() }, payment: { c_id: 'order' } }),
    absent_code: 10001,
  },
  {
    method: 'refund.get',
    params: () => ({ identifiers: refund }),
    absent_code: 11001,
  },
  { method: 'refund.list', params: () => ({}) },
  { method: 'refund.summary', params: () => ({}) },
  {
    method: 'refund.comment.create',
    params: () => ({ refund, body: 'x' }),
    absent_code: 11001,
    is_mutation: true,
  },
  {
    method: 'refund.comments.list',
    params: () => ({ refund }),
    absent_code: 11001,
  },
  {
    method: 'chargeback.get',
    params: () => ({ identifiers: { h_id: NOTHING } }),
    absent_code: 12001,
  },
  { method: 'chargeback.list', params: () => ({}) },
  { method: 'chargeback.summary', params: () => ({}) },
  {
    method: 'chargeback.attachments.list',
    params: () => ({ chargeback: { h_id: NOTHING } }),
    absent_code: 12001,
  },
]

// spec: Errors; the refusals of one method only are in the tests of refunds and chargebacks.
describe.each(ROWS)('$method', ({ method, params, is_mutation = false }) => {
  const operation_id = (): string | undefined => (is_mutation ? randomUUID() : undefined)
  const call = (of = shop, more: object = {}): Promise<PublicResponse> =>
    of.call(method, { ...params(), ...more }, operation_id())
  const resource = method.split('.')[0] ?? ''

  // A10, E8
  test('is unknown until its resource is switched on, and when it is disabled', async () => {
    const others = ['ticket', 'refund', 'chargeback', 'attachment'].filter((one) => one !== resource)
    const off = await system.newMerchant({ supportResources: others })
    const disabled = await system.newMerchant({ disabledMethods: [method] })
    for (const client of [off, disabled])
      expect(await call(client)).toMatchObject({ http_status: 404, body: { error: { code: 1002 } } })
  })

  // A8
  test('needs its scope', async () => {
    const none = SCOPES.filter((scope) => !scope.startsWith(`${resource}s.`))
    const refused = await call(await system.newMerchant({ scopes: none }))
    expect(refused).toMatchObject({ http_status: 403, body: { error: { code: 3008 } } })
  })

  // E4, E5
  test('refuses a service_id, an unknown field, and a request without params', async () => {
    const body = { method, operation_id: operation_id(), params: params() }
    const errorOf = async (sent: object): Promise<unknown> => (await shop.sendBody(sent)).body.error
    const refusal = (code: number, description: string): object => ({ code, details: { description } })
    expect(await errorOf({ ...body, service_id: 1 })).toMatchObject(refusal(9000, 'service_id'))
    expect(await errorOf({ ...body, params: { ...params(), merchant_id: '1' } })).toMatchObject(
      refusal(9000, 'params.merchant_id'),
    )
    expect(await errorOf({ ...body, params: undefined })).toMatchObject(refusal(1005, 'params'))
    const wrong_key = is_mutation ? undefined : 'op'
    expect(await errorOf({ ...body, operation_id: wrong_key })).toMatchObject(
      refusal(is_mutation ? 1005 : 9000, 'operation_id'),
    )
  })

  // E10
  test('has a quota', async () => {
    const limited = await system.newMerchant({ rateLimits: { [method]: 1 } })
    await call(limited)
    const refused = await call(limited)
    expect(refused).toMatchObject({
      http_status: 429,
      body: { error: { code: 1000, details: { bucket: method } } },
    })
  })

  // E13
  test('is HTTP 503 while the service cannot reach its store', async () => {
    system.roles.setStoreUnavailable('support', true)
    const refused = await call()
    system.roles.setStoreUnavailable('support', false)
    expect(refused).toMatchObject({ http_status: 503, body: { error: { code: 2002 } } })
  })
})

// spec: Support methods, 6
test.each(ROWS.filter(({ absent_code }) => absent_code !== undefined))(
  '$method refuses what does not exist with $absent_code',
  async ({ method, params, absent_code: code, is_mutation }) => {
    const refused = await shop.call(method, params(), is_mutation ? randomUUID() : undefined)
    expect(refused).toMatchObject({ http_status: 404, body: { error: { code } } })
  },
)

/** The bytes of a response without what differs between any two: its request id and its time. */
const bytesOf = ({ http_status, raw }: PublicResponse): string =>
  `${http_status} ${raw.replace(/"request_id":"[^"]*"/, '').replace(/"processing_time":[0-9.]+/, '')}`

// spec: Support methods, 6
test('another merchant gets the bytes of what does not exist', async () => {
  const other = await system.newMerchant()
  const payment = await shop.deposit()
  const requested = await shop.call('refund.request', {
    identifiers: { c_id: 'own' },
    payment: { c_id: payment.c_id },
  })
  const amount = { minor: 5n, currency: 'INR' }
  const { chargeback } = await system
    .operator(ChargebackService)
    .openChargeback({ paymentId: payment.h_id, amount, reasonCode: '10.4' })
  const ids = { refund: requested.body.result.identifiers.h_id, chargeback: chargeback?.chargebackId }
  const calls: readonly [string, (h_id: string) => object, string | undefined][] = [
    ['refund.get', (h_id) => ({ identifiers: { h_id } }), ids.refund],
    ['refund.comments.list', (h_id) => ({ refund: { h_id } }), ids.refund],
    ['chargeback.get', (h_id) => ({ identifiers: { h_id } }), ids.chargeback],
    ['chargeback.attachments.list', (h_id) => ({ chargeback: { h_id } }), ids.chargeback],
    ['refund.list', (h_id) => ({ payment: { h_id } }), payment.h_id],
    ['chargeback.list', (h_id) => ({ payment: { h_id } }), payment.h_id],
  ]
  for (const [method, paramsOf, foreign = ''] of calls) {
    const unknown = bytesOf(await other.call(method, paramsOf(randomUUID())))
    expect(bytesOf(await other.call(method, paramsOf(foreign)))).toBe(unknown)
  }
  const request = (about: object, c_id: string) =>
    other.call('refund.request', { identifiers: { c_id }, payment: about })
  const unknown = bytesOf(await request({ h_id: randomUUID() }, 'a'))
  for (const about of [{ h_id: payment.h_id }, { c_id: payment.c_id }])
    expect(bytesOf(await request(about, randomUUID()))).toBe(unknown)
})

// E13: the payment decides about a refund.
test('refund.request is HTTP 503 while payments cannot reach its store, and the repetition succeeds', async () => {
  const { c_id } = await shop.deposit()
  const params = { identifiers: { c_id: randomUUID() }, payment: { c_id } }
  system.roles.setStoreUnavailable('payments', true)
  const refused = await shop.call('refund.request', params)
  system.roles.setStoreUnavailable('payments', false)
  expect(refused).toMatchObject({ http_status: 503, body: { error: { code: 2002 } } })
  expect((await shop.call('refund.request', params)).http_status).toBe(200)
})
