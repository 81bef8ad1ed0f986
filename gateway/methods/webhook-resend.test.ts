import { describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import type { ResendCallbackRequest } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { codeAndPath, createTestGateway, send, type TestRequest } from '../gateway.fixture.ts'
import { resendPath } from '../paths.ts'

const PAYMENT_ID = '118432100000420001'

/** A function that sends a body to the resend path of a gateway, and the requests that payments got. */
async function withPayments(refusal?: ErrorCode) {
  const requests: ResendCallbackRequest[] = []
  const app = await createTestGateway({
    credential: { scopes: ['webhooks.update'], rateLimits: { 'webhook.resend': 1_000 } },
    payments: {
      resendCallback(message) {
        requests.push(message)
        if (refusal !== undefined) throw new PublicError(refusal)
        return { deliveryIds: ['one', 'two'] }
      },
    },
  })
  const resend = (sent: TestRequest) => send(app, { path: resendPath(PAYMENT_ID), ...sent })
  return { resend, requests }
}

const body = (more: object = {}): object => ({ payment_id: PAYMENT_ID, operation_id: 'once', ...more })

describe('the resend path', () => {
  test('sends the request to payments and returns the queued deliveries', async () => {
    const { resend, requests } = await withPayments()
    const response = await resend({ body: body() })
    expect(requests[0]).toMatchObject({
      merchantId: '7001',
      environment: Environment.TEST,
      policy: { applicationId: '1001' },
      hId: PAYMENT_ID,
      operationId: 'once',
    })
    expect([response.status, response.body]).toMatchObject([
      200,
      {
        success: true,
        result: {
          payment_id: PAYMENT_ID,
          operation_id: 'once',
          delivery_ids: ['one', 'two'],
          status: 'queued',
        },
      },
    ])
  })

  test('sends the same payload hash for a payment, whatever the idempotency key and the order of the fields', async () => {
    const { resend, requests } = await withPayments()
    await resend({ body: body() })
    await resend({ raw: `{ "operation_id":"twice", "payment_id":"${PAYMENT_ID}" }` })
    await resend({ body: body({ payment_id: 'other' }), path: resendPath('other') })
    const [first, again, other] = requests.map(({ payloadHash }) => payloadHash)
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    expect(again).toBe(first)
    expect(other).not.toBe(first)
  })

  test.each<[string, unknown, number, string]>([
    ['no payment_id', { operation_id: 'a' }, 1005, 'payment_id'],
    ['a numeric payment_id', body({ payment_id: 5 }), 1005, 'payment_id'],
    ['the payment_id of another path', body({ payment_id: 'other' }), 9000, 'payment_id'],
    ['a payment_id with a space at its end', body({ payment_id: `${PAYMENT_ID} ` }), 9000, 'payment_id'],
    ['an empty payment_id', body({ payment_id: '' }), 9000, 'payment_id'],
    ['no operation_id', { payment_id: PAYMENT_ID }, 1005, 'operation_id'],
    ['an empty operation_id', body({ operation_id: '' }), 9000, 'operation_id'],
    ['a long operation_id', body({ operation_id: 'o'.repeat(129) }), 9000, 'operation_id'],
    ['null as operation_id', body({ operation_id: null }), 1005, 'operation_id'],
    ['the first of two violations', body({ payment_id: '', operation_id: '' }), 9000, 'payment_id'],
    [
      'an empty operation_id rather than the payment_id of another path',
      body({ payment_id: 'other', operation_id: '' }),
      9000,
      'operation_id',
    ],
    [
      'a missing field rather than the payment_id of another path',
      { payment_id: 'other' },
      1005,
      'operation_id',
    ],
    ['a method', body({ method: 'payment.notification' }), 9000, 'method'],
    ['a service_id', body({ service_id: 5 }), 9000, 'service_id'],
    ['a list', [], 1005, 'body'],
  ])('refuses %s', async (_what, sent, code, description) => {
    const { resend, requests } = await withPayments()
    expect(codeAndPath(await resend({ body: sent }))).toEqual([code, description])
    expect(requests).toHaveLength(0)
  })

  test.each([
    [6010, 400],
    [8801, 400],
    [1003, 400],
    [1013, 409],
    [3008, 403],
    [2002, 400],
  ] as const)('passes on the refusal %d of payments', async (code, status) => {
    const { resend } = await withPayments(code)
    const response = await resend({ body: body() })
    expect([response.status, response.body.error?.code]).toEqual([status, code])
  })
})
