import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import type { FindPaymentRequest } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { fullPayment } from '#lib/contract/payment.fixture.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { codeAndPath, createTestGateway, type FixtureOptions, send } from '../gateway.fixture.ts'

const request = (identifiers: unknown, more: object = {}): object => ({
  method: 'payment.status',
  params: { payment: { identifiers } },
  ...more,
})

async function withPayments(options: FixtureOptions = {}) {
  const requests: FindPaymentRequest[] = []
  const app = await createTestGateway({
    credential: { currencies: ['INR'] },
    payments: {
      findPayment(message) {
        requests.push(message)
        return { payment: fullPayment() }
      },
    },
    ...options,
  })
  return { app, requests }
}

test.each([
  [{ c_id: 'a' }, ['a', undefined]],
  [{ h_id: 'b' }, [undefined, 'b']],
  [{ c_id: 'a', h_id: 'b' }, ['a', 'b']],
])('finds %p and answers without the bank', async (identifiers, expected) => {
  const { app, requests } = await withPayments()
  const { body } = await send(app, { body: request(identifiers) })
  expect(requests[0]).toMatchObject({
    merchantId: '7001',
    environment: Environment.TEST,
    policy: { applicationId: '1001', currencies: ['INR'] },
  })
  expect([requests[0]?.cId, requests[0]?.hId]).toEqual(expected)
  expect(body.result).toMatchObject({
    payment: { status: { status: 'success' } },
    operation: { operation_type: 'deposit' },
  })
  expect(JSON.stringify(body.result)).not.toContain('"bank":')
})

test('ignores a valid service_id', async () => {
  const { app, requests } = await withPayments()
  expect((await send(app, { body: request({ c_id: 'a' }, { service_id: '999' }) })).status).toBe(200)
  expect(requests[0]).not.toHaveProperty('serviceId')
})

const IDENTIFIERS = 'params.payment.identifiers'

test.each<[string, object, number, string]>([
  ['no identifier', request({}), 1005, IDENTIFIERS],
  ['no identifiers', request(undefined), 1005, IDENTIFIERS],
  ['a numeric c_id', request({ c_id: 5 }), 1005, `${IDENTIFIERS}.c_id`],
  ['a null identifier and a valid one', request({ c_id: null, h_id: 'b' }), 1005, `${IDENTIFIERS}.c_id`],
  ['a p_id', request({ p_id: 'x' }), 9000, `${IDENTIFIERS}.p_id`],
  ['a p_id and a c_id', request({ c_id: 'a', p_id: 'x' }), 9000, `${IDENTIFIERS}.p_id`],
  ['a long h_id', request({ h_id: 'b'.repeat(129) }), 9000, `${IDENTIFIERS}.h_id`],
  ['an operation_id', request({ c_id: 'a' }, { operation_id: 'a' }), 9000, 'operation_id'],
  ['a service_id of another type', request({ c_id: 'a' }, { service_id: [] }), 1005, 'service_id'],
  [
    'an amount',
    { method: 'payment.status', params: { payment: { identifiers: { c_id: 'a' }, amount: 1 } } },
    9000,
    'params.payment.amount',
  ],
])('refuses %s', async (_what, body, code, description) => {
  const { app, requests } = await withPayments()
  expect(codeAndPath(await send(app, { body }))).toEqual([code, description])
  expect(requests).toHaveLength(0)
})

test('answers 6010 for an unknown payment', async () => {
  const app = await createTestGateway({
    payments: {
      findPayment() {
        throw new PublicError(6010)
      },
    },
  })
  const { status, body } = await send(app, { body: request({ c_id: 'a' }) })
  expect([status, body.error?.code]).toEqual([400, 6010])
})

test('the log line names the payment by all of its ids, and a refused one as the merchant named it', async () => {
  const lines: string[] = []
  const log = createLog('gateway', { level: 'info', writer: { write: (line) => void lines.push(line) } })
  const { app } = await withPayments({ log })
  await send(app, { body: request({ c_id: 'a' }) })
  const refusing = await createTestGateway({
    log,
    payments: {
      findPayment() {
        throw new PublicError(6010)
      },
    },
  })
  await send(refusing, { body: request({ c_id: 'unknown-1' }) })
  for (const c_id of ['ann@example.com', 'Ann Other', '5e'.repeat(32)])
    await send(refusing, { body: request({ c_id }) })
  const [found, refused, ...odd] = lines.map((line) => JSON.parse(line))
  for (const line of odd) expect(line).not.toHaveProperty('c_id')
  expect(odd).toHaveLength(3)
  const { paymentId: payment_id, cId: c_id, hId: h_id } = fullPayment()
  expect(found).toMatchObject({ payment_id, c_id, h_id })
  expect(refused).toMatchObject({ code: 6010, c_id: 'unknown-1' })
  expect(refused).not.toHaveProperty('payment_id')
})
