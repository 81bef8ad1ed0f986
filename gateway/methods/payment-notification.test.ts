import { describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import type { NotifyPaymentRequest } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { fullPayment } from '#lib/contract/payment.fixture.ts'
import { codeAndPath, createTestGateway, send } from '../gateway.fixture.ts'

const request = (identifiers: unknown, more: object = {}): object => ({
  method: 'payment.notification',
  params: { payment: { identifiers } },
  ...more,
})

async function withPayments() {
  const requests: NotifyPaymentRequest[] = []
  const app = await createTestGateway({
    credential: { currencies: ['INR'], rateLimits: { 'payment.notification': 1_000 } },
    payments: {
      notifyPayment(message) {
        requests.push(message)
        return { payment: fullPayment() }
      },
      findPayment: () => ({ payment: fullPayment() }),
    },
  })
  return { app, requests }
}

describe('payment.notification', () => {
  test('sends the request to payments and answers as payment.status', async () => {
    const { app, requests } = await withPayments()
    const body = request({ c_id: 'a', h_id: 'b' }, { operation_id: 'once' })
    const { body: notified } = await send(app, { body })
    expect(requests[0]).toMatchObject({
      merchantId: '7001',
      environment: Environment.TEST,
      policy: { applicationId: '1001', currencies: ['INR'] },
      cId: 'a',
      hId: 'b',
      operationId: 'once',
    })
    const status = await send(app, { body: { ...body, method: 'payment.status', operation_id: undefined } })
    expect(notified.result).toEqual(status.body.result)
  })

  test('needs no operation_id, and ignores a valid service_id', async () => {
    const { app, requests } = await withPayments()
    expect((await send(app, { body: request({ h_id: 'b' }, { service_id: '999' }) })).status).toBe(200)
    expect(requests[0]).not.toHaveProperty('operationId')
    expect(requests[0]).not.toHaveProperty('serviceId')
  })

  test('gives all spellings of a request the same payload hash, and other requests other hashes', async () => {
    const { app, requests } = await withPayments()
    const hashes = async (bodies: readonly string[]): Promise<Set<string | undefined>> => {
      requests.length = 0
      for (const raw of bodies) expect((await send(app, { raw })).status).toBe(200)
      return new Set(requests.map(({ payloadHash }) => payloadHash))
    }
    const spelled = (identifiers: string, more = ''): string =>
      `{"method":"payment.notification",${more}"params":{"payment":{"identifiers":{${identifiers}}}}}`
    const same = [
      spelled('"c_id":"a","h_id":"b"', '"service_id":5,'),
      spelled('"h_id":"b","c_id":"a"', '"service_id":"5",'),
      spelled('"h_id" : "b", "c_id": "\\u0061"', '"service_id":5,"operation_id":"x",'),
      spelled('"c_id":"a","h_id":"b"', '"operation_id":"y","service_id":5,'),
    ]
    const other = [
      spelled('"c_id":"a"'),
      spelled('"h_id":"a"'),
      spelled('"c_id":"b"'),
      spelled('"c_id":"a","h_id":"b"'),
      spelled('"c_id":"a"', '"service_id":5,'),
    ]
    expect((await hashes(same)).size).toBe(1)
    expect((await hashes([...same, ...other])).size).toBe(1 + other.length)
    for (const { payloadHash } of requests) expect(payloadHash).toMatch(/^[0-9a-f]{64}$/)
  })

  const identifiers = 'params.payment.identifiers'

  test.each<[string, object, number, string]>([
    ['no identifier', request({}), 1005, identifiers],
    ['a numeric c_id', request({ c_id: 5 }), 1005, `${identifiers}.c_id`],
    ['a p_id', request({ p_id: 'x' }), 9000, `${identifiers}.p_id`],
    ['a long h_id', request({ h_id: 'b'.repeat(129) }), 9000, `${identifiers}.h_id`],
    ['an empty operation_id', request({ c_id: 'a' }, { operation_id: '' }), 9000, 'operation_id'],
    ['a long operation_id', request({ c_id: 'a' }, { operation_id: 'o'.repeat(129) }), 9000, 'operation_id'],
    [
      'an operation_id with a line break',
      request({ c_id: 'a' }, { operation_id: 'o\n' }),
      9000,
      'operation_id',
    ],
    ['a numeric operation_id', request({ c_id: 'a' }, { operation_id: 5 }), 1005, 'operation_id'],
    ['null as operation_id', request({ c_id: 'a' }, { operation_id: null }), 1005, 'operation_id'],
    ['an unknown field', request({ c_id: 'a' }, { webhook_url: 'x' }), 9000, 'webhook_url'],
  ])('refuses %s', async (_what, body, code, description) => {
    const { app, requests } = await withPayments()
    expect(codeAndPath(await send(app, { body }))).toEqual([code, description])
    expect(requests).toHaveLength(0)
  })

  test.each([
    [6010, 400],
    [1003, 400],
    [1013, 409],
    [3008, 403],
    [2002, 400],
  ] as const)('passes on the refusal %d of payments', async (code, status) => {
    const app = await createTestGateway({
      payments: {
        notifyPayment() {
          throw new PublicError(code)
        },
      },
    })
    const response = await send(app, { body: request({ c_id: 'a' }) })
    expect([response.status, response.body.error?.code]).toEqual([status, code])
  })
})
