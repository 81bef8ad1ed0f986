import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { fullPayment } from '#lib/contract/payment.fixture.ts'
import { codeAndPath, createTestGateway, OLD_SECRET, SECRET, send } from '../gateway.fixture.ts'
import { expectDerivedSecret, path, testedMethod } from './new-payments.fixture.ts'

const PAYMENT = {
  identifiers: { c_id: 'order-1' },
  amount: { value: 150_000, currency: 'INR' },
  payer: { email: 'asha.rao@example.com' },
}

const { request, withPayments, expectRefusal } = testedMethod(
  'payment.in',
  501,
  fullPayment({ status: PaymentStatus.PROCESSING }),
)

// A8
test('sends the request to the payments service, with the restrictions of the credential', async () => {
  const { app, requests } = await withPayments({
    credential: { serviceIds: ['501'], currencies: ['INR', 'TRY'] },
  })
  const payment = {
    ...PAYMENT,
    description: 'Order 1',
    payer: {
      email: 'asha.rao@example.com',
      phone: '+911234567890',
      person: { first_name: 'Asha', last_name: 'Rao' },
      customer_account: { id: 'customer-77' },
    },
    client: { language: 'en', country: 'IN' },
    redirect: { on_success: 'https://a.example/ok', on_fail: 'https://a.example/fail' },
  }
  expect((await send(app, { body: request(payment, { service_id: '501' }) })).status).toBe(200)
  expect(requests).toHaveLength(1)
  expect(requests[0]).toMatchObject({
    merchantId: '7001',
    environment: Environment.TEST,
    policy: { applicationId: '1001', serviceIds: ['501'], currencies: ['INR', 'TRY'] },
    serviceId: '501',
    direction: Direction.IN,
    cId: 'order-1',
    amount: { minor: 150_000n, currency: 'INR' },
    details: {
      description: 'Order 1',
      payer: {
        email: 'asha.rao@example.com',
        phone: '+911234567890',
        person: { firstName: 'Asha', lastName: 'Rao' },
        customerAccount: { id: 'customer-77' },
      },
      client: { language: 'en', country: 'IN' },
      redirect: { onSuccess: 'https://a.example/ok', onFail: 'https://a.example/fail' },
    },
  })
  expect(requests[0]?.webhook).toBeUndefined()
  expect(requests[0]?.beneficiary).toBeUndefined()
})

test('returns the payment with its bank, and its primary operation', async () => {
  const { app } = await withPayments()
  const { result } = (await send(app, { body: request(PAYMENT) })).body
  expect(result).toMatchObject({
    payment: {
      identifiers: { c_id: 'order-1' },
      status: { status: 'processing', success: null, error: null },
      receiver: { bank: { code: '001' } },
      service_id: 501,
    },
    operation: { operation_type: 'deposit' },
  })
})

test('leaves absent optional fields out of the request to the payments service', async () => {
  const { app, requests } = await withPayments()
  await send(app, { body: request({ ...PAYMENT, payer: {}, client: {}, redirect: {} }) })
  expect(requests[0]?.details?.payer).toBeDefined()
  expect(requests[0]?.details?.payer?.email).toBeUndefined()
  expect(requests[0]?.details?.description).toBeUndefined()
})

test.each([SECRET, OLD_SECRET])(
  'derives the callback secret from the secret that signed the request',
  async (secret) => {
    const { app, requests } = await withPayments()
    const webhook_url = 'https://shop.example.com/hook'
    await send(app, { body: request({ ...PAYMENT, webhook_url }), secret })
    const [message] = requests
    if (!message) throw new Error('payments got no request')
    expect(message.webhook?.url).toBe(webhook_url)
    expectDerivedSecret(message, secret)
  },
)

const long = (length: number): string => 'a'.repeat(length)
const { identifiers, amount, payer } = PAYMENT

test.each<[string, unknown, number, string]>([
  ['no payment', undefined, 1005, 'params.payment'],
  ['no identifiers', { amount, payer }, 1005, path('identifiers')],
  ['no c_id', { ...PAYMENT, identifiers: {} }, 1005, path('identifiers.c_id')],
  ['a c_id that is a number', { ...PAYMENT, identifiers: { c_id: 1 } }, 1005, path('identifiers.c_id')],
  ['an empty c_id', { ...PAYMENT, identifiers: { c_id: '' } }, 9000, path('identifiers.c_id')],
  ['a long c_id', { ...PAYMENT, identifiers: { c_id: long(129) } }, 9000, path('identifiers.c_id')],
  ['a c_id with a line feed', { ...PAYMENT, identifiers: { c_id: 'a\n' } }, 9000, path('identifiers.c_id')],
  ['an h_id', { ...PAYMENT, identifiers: { c_id: 'a', h_id: 'b' } }, 9000, path('identifiers.h_id')],
  ['no amount', { identifiers, payer }, 1005, path('amount')],
  [
    'an amount that is a text',
    { ...PAYMENT, amount: { value: '1', currency: 'INR' } },
    1005,
    path('amount.value'),
  ],
  ['a fraction', { ...PAYMENT, amount: { value: 1.5, currency: 'INR' } }, 1005, path('amount.value')],
  ['an amount of 0', { ...PAYMENT, amount: { value: 0, currency: 'INR' } }, 6001, path('amount.value')],
  ['a negative amount', { ...PAYMENT, amount: { value: -1, currency: 'INR' } }, 6001, path('amount.value')],
  [
    'a code that is not a currency',
    { ...PAYMENT, amount: { value: 1, currency: 'ABC' } },
    1010,
    path('amount.currency'),
  ],
  [
    'a currency in lower case',
    { ...PAYMENT, amount: { value: 1, currency: 'inr' } },
    1010,
    path('amount.currency'),
  ],
  ['a long description', { ...PAYMENT, description: long(1025) }, 9000, path('description')],
  ['no payer', { identifiers, amount }, 1005, path('payer')],
  ['a payer that is null', { ...PAYMENT, payer: null }, 1005, path('payer')],
  ['a malformed e-mail', { ...PAYMENT, payer: { email: 'a' } }, 9000, path('payer.email')],
  ['a long phone', { ...PAYMENT, payer: { phone: long(33) } }, 9000, path('payer.phone')],
  [
    'a long name',
    { ...PAYMENT, payer: { person: { last_name: long(129) } } },
    9000,
    path('payer.person.last_name'),
  ],
  ['an unknown field of the payer', { ...PAYMENT, payer: { iban: 'x' } }, 9000, path('payer.iban')],
  ['a receiver', { ...PAYMENT, receiver: {} }, 9000, path('receiver')],
  ['a long language', { ...PAYMENT, client: { language: long(11) } }, 9000, path('client.language')],
  ['a long country', { ...PAYMENT, client: { country: 'INDI' } }, 9000, path('client.country')],
  [
    'a redirect to a script',
    { ...PAYMENT, redirect: { on_fail: 'javascript:1' } },
    9000,
    path('redirect.on_fail'),
  ],
  [
    'a long URL',
    { ...PAYMENT, redirect: { on_success: `https://a.b/${long(2048)}` } },
    9000,
    path('redirect.on_success'),
  ],
  ['a callback URL of another type', { ...PAYMENT, webhook_url: 1 }, 1005, path('webhook_url')],
  [
    'a callback URL that is refused',
    { ...PAYMENT, webhook_url: 'http://127.0.0.1' },
    9000,
    path('webhook_url'),
  ],
  [
    'a refused URL and an amount of 0',
    { ...PAYMENT, amount: { value: 0, currency: 'INR' }, webhook_url: '' },
    9000,
    path('webhook_url'),
  ],
])('refuses %s', async (_what, payment, code, field) => {
  await expectRefusal(payment, code, field, { acceptsCallbackUrl: () => false })
})

// N9, E6
test.each<[string, number]>([
  ['https://private.example.com/', 9000],
  ['https://a.example.com/', 6001],
])('judges the host of %s before the amount', async (webhook_url, code) => {
  const checked_urls: unknown[] = []
  const { app, requests } = await withPayments({
    acceptsCallbackHost: async (...given) => {
      checked_urls.push(given)
      return !webhook_url.includes('private')
    },
  })
  const payment = { ...PAYMENT, amount: { value: 0, currency: 'INR' }, webhook_url }
  expect((await send(app, { body: request(payment) })).body.error?.code).toBe(code)
  expect(checked_urls).toEqual([[webhook_url, 'test']])
  expect(requests).toHaveLength(0)
})

test.each(['9007199254740992', '9007199254740993', '99999999999999999999'])(
  'refuses the amount %s',
  async (literal) => {
    const { app, requests } = await withPayments()
    const raw = JSON.stringify(request(PAYMENT)).replace('150000', literal)
    expect((await send(app, { raw })).body.error?.code).toBe(6001)
    expect(requests).toHaveLength(0)
  },
)

test.each(['150000.0', '15e4', '150000.5', '1e400'])(
  'refuses the literal %s, which is not an integer',
  async (literal) => {
    const { app } = await withPayments()
    const raw = JSON.stringify(request(PAYMENT)).replace('150000', literal)
    expect(codeAndPath(await send(app, { raw }))).toEqual([1005, path('amount.value')])
  },
)

// P17
test('accepts the largest amount and the longest texts', async () => {
  const { app, requests } = await withPayments()
  const payment = {
    ...PAYMENT,
    identifiers: { c_id: '💶'.repeat(128) },
    amount: { value: Number.MAX_SAFE_INTEGER, currency: 'INR' },
    description: '💶'.repeat(1024),
  }
  expect((await send(app, { body: request(payment) })).status).toBe(200)
  expect(requests[0]?.amount?.minor).toBe(2n ** 53n - 1n)
})

test.each<[string, object, number, string]>([
  ['no service_id', { service_id: undefined }, 1005, 'service_id'],
  ['a service_id of letters', { service_id: 'abc' }, 9000, 'service_id'],
  ['an operation_id', { operation_id: 'a' }, 9000, 'operation_id'],
  ['a merchant_id', { merchant_id: '7001' }, 9000, 'merchant_id'],
])('refuses %s', async (_what, more, code, description) => {
  const { app } = await withPayments()
  expect(codeAndPath(await send(app, { body: request(PAYMENT, more) }))).toEqual([code, description])
})

test('checks the callback URL by the environment of the credential', async () => {
  const checked: unknown[] = []
  const { app } = await withPayments({
    credential: { environment: Environment.PRODUCTION },
    merchant_environments: [Environment.PRODUCTION],
    acceptsCallbackUrl: (...given) => checked.push(given) > 0,
  })
  await send(app, { body: request({ ...PAYMENT, webhook_url: 'https://a.example/' }) })
  expect(checked).toEqual([['https://a.example/', 'production']])
})

test('passes on a refusal of the payments service unchanged', async () => {
  const context = { h_id: '100000000000000001', status: 'processing' }
  const app = await createTestGateway({
    payments: {
      createPayment() {
        throw new PublicError(6009, { context })
      },
    },
  })
  const { status, body, headers } = await send(app, { body: request(PAYMENT) })
  expect(status).toBe(400)
  expect(body.error).toEqual({ code: 6009, message: 'Payment already exists', details: null, context })
  expect(headers['x-data-hash']).toBeDefined()
})

test('gives the payments service more than 35 s', async () => {
  let timeout_ms = 0
  const app = await createTestGateway({
    payments: {
      createPayment(_request, context) {
        timeout_ms = context.timeoutMs() ?? 0
        return { payment: fullPayment() }
      },
    },
  })
  await send(app, { body: request(PAYMENT) })
  expect(timeout_ms).toBeGreaterThan(35_000)
})

test('answers 2001 if the payments service returns no payment', async () => {
  const app = await createTestGateway({ payments: { createPayment: () => ({}) } })
  expect((await send(app, { body: request(PAYMENT) })).body.error?.code).toBe(2001)
})
