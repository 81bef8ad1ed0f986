import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { fullPayment } from '#lib/contract/payment.fixture.ts'
import { codeAndPath, createTestGateway, SECRET, send } from '../gateway.fixture.ts'
import { expectDerivedSecret, path, testedMethod } from './new-payments.fixture.ts'

const BANK = { account: { id: '123456789012' }, ifsc: 'SBIN0001234' }
const RECEIVER = { bank: BANK }
const PAYMENT = {
  identifiers: { c_id: 'withdrawal-1' },
  amount: { value: 150_000, currency: 'INR' },
  receiver: RECEIVER,
}

const { request, withPayments, expectRefusal } = testedMethod(
  'payment.out',
  512,
  fullPayment({ direction: Direction.OUT }),
)

test('sends the request to payments, with every field of the receiver', async () => {
  const { app, requests } = await withPayments()
  const payment = {
    ...PAYMENT,
    description: 'Earnings',
    receiver: {
      bank: { account: { id: '2850590940090418135201' }, code: '285' },
      email: 'asha.rao@example.com',
      phone: '+911234567890',
      person: { first_name: 'Asha', last_name: 'Rao' },
    },
    client: { language: 'en', country: 'IN' },
    webhook_url: 'https://shop.example.com/hook',
  }
  expect((await send(app, { body: request(payment, { service_id: '512' }) })).status).toBe(200)
  const [message, ...others] = requests
  if (!message) throw new Error('payments got no request')
  expect(others).toEqual([])
  expect(message).toMatchObject({
    merchantId: '7001',
    environment: Environment.TEST,
    serviceId: '512',
    direction: Direction.OUT,
    cId: 'withdrawal-1',
    amount: { minor: 150_000n, currency: 'INR' },
    details: {
      description: 'Earnings',
      receiver: {
        email: 'asha.rao@example.com',
        phone: '+911234567890',
        person: { firstName: 'Asha', lastName: 'Rao' },
      },
      client: { language: 'en', country: 'IN' },
    },
    beneficiary: { accountId: '2850590940090418135201', bankCode: '285' },
  })
  expect(message.details?.payer).toBeUndefined()
  expect(message.beneficiary?.ifsc).toBeUndefined()
  // N8
  expectDerivedSecret(message, SECRET)
})

test('leaves absent optional fields out of the request, and returns the payment with its operation', async () => {
  const { app, requests } = await withPayments()
  const { result } = (await send(app, { body: request(PAYMENT) })).body
  expect(requests[0]?.beneficiary).toMatchObject({ accountId: '123456789012', ifsc: 'SBIN0001234' })
  expect(requests[0]?.details?.receiver?.person).toBeUndefined()
  expect(result).toMatchObject({
    payment: { destination: 'out', receiver: { bank: { code: '001' } } },
    operation: { operation_type: expect.any(String) },
  })
})

const { identifiers, amount } = PAYMENT
const withReceiver = (receiver: unknown): object => ({ ...PAYMENT, receiver })
const withBank = (bank: unknown): object => withReceiver({ bank })

// E4, E5, P12
test.each<[string, unknown, number, string]>([
  ['a payer', { ...PAYMENT, payer: {} }, 9000, path('payer')],
  ['a redirect', { ...PAYMENT, redirect: {} }, 9000, path('redirect')],
  ['no receiver', { identifiers, amount }, 1005, path('receiver')],
  ['a receiver that is null', withReceiver(null), 1005, path('receiver')],
  ['no bank', withReceiver({}), 1005, path('receiver.bank')],
  ['no account', withBank({}), 1005, path('receiver.bank.account')],
  ['no account number', withBank({ account: {} }), 1005, path('receiver.bank.account.id')],
  ['an account that is a number', withBank({ account: { id: 1 } }), 1005, path('receiver.bank.account.id')],
  ['a long account', withBank({ account: { id: '1'.repeat(65) } }), 9000, path('receiver.bank.account.id')],
  ['an IFSC that is null', withBank({ ...BANK, ifsc: null }), 1005, path('receiver.bank.ifsc')],
  ['a code that is a number', withBank({ ...BANK, code: 285 }), 1005, path('receiver.bank.code')],
  ['a long code', withBank({ ...BANK, code: '1'.repeat(65) }), 9000, path('receiver.bank.code')],
  [
    'a CLABE of its own',
    withBank({ ...BANK, clabe: '032180000118359719' }),
    9000,
    path('receiver.bank.clabe'),
  ],
  ['an unknown field', withReceiver({ ...RECEIVER, iban: 'x' }), 9000, path('receiver.iban')],
  ['a malformed e-mail', withReceiver({ ...RECEIVER, email: 'a' }), 9000, path('receiver.email')],
  ['a long phone', withReceiver({ ...RECEIVER, phone: '1'.repeat(33) }), 9000, path('receiver.phone')],
  [
    'a long name',
    withReceiver({ ...RECEIVER, person: { first_name: 'a'.repeat(129) } }),
    9000,
    path('receiver.person.first_name'),
  ],
  ['an amount of 0', { ...PAYMENT, amount: { value: 0, currency: 'INR' } }, 6001, path('amount.value')],
  ['a missing receiver before a payer', { identifiers, amount, payer: {} }, 1005, path('receiver')],
])('refuses %s', async (_what, payment, code, field) => {
  await expectRefusal(payment, code, field)
})

test('refuses an operation_id and a missing service_id', async () => {
  const { app } = await withPayments()
  const refusal = async (more: object) => codeAndPath(await send(app, { body: request(PAYMENT, more) }))
  expect(await refusal({ operation_id: 'a' })).toEqual([9000, 'operation_id'])
  expect(await refusal({ service_id: undefined })).toEqual([1005, 'service_id'])
})

test.each([6004, 6005, 6006, 6035, 8600, 8601] as const)(
  'passes the refusal %d of payments on',
  async (code) => {
    const app = await createTestGateway({
      payments: {
        createPayment() {
          throw new PublicError(code)
        },
      },
    })
    const { status, body } = await send(app, { body: request(PAYMENT) })
    expect([status, body.error?.code]).toEqual([400, code])
  },
)
