import { expect, test } from '@jest/globals'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { OperationType, type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { barePayment, fullPayment } from './payment.fixture.ts'
import { CREATED_PAYMENT_VIEW, OPERATION_VIEW, PAYMENT_VIEW } from './public-payment.ts'

interface ShownPayment {
  readonly identifiers: object
  readonly amount: { readonly value: number }
  readonly receiver?: object
  readonly redirect?: object
  readonly status: object
  readonly timestamps: object
}

function paymentObject(payment: Payment, audience: 'create' | 'status' | 'callback'): ShownPayment {
  const shown =
    audience === 'create'
      ? CREATED_PAYMENT_VIEW.render(payment)
      : PAYMENT_VIEW.render(payment, audience === 'status' ? 'response' : 'callback')
  return shown as ShownPayment
}

const AMOUNT = { value: 150_000, currency: 'INR' }

const FULL = {
  identifiers: { c_id: 'order-1', h_id: '100000000000000001', p_id: 'provider-1', utr: 'utr-1' },
  amount: AMOUNT,
  description: 'Order 1',
  payer: {
    email: 'asha.rao@example.com',
    phone: '+911234567890',
    person: { first_name: 'Asha', last_name: 'Rao' },
    customer_account: { id: 'customer-77' },
  },
  receiver: {
    bank_account: { id: '123456789', name: 'Multihub' },
    bank: { name: 'A Bank', code: '001' },
    phone: '+910987654321',
    document: { type: 'pan', number: 'ABCDE1234F' },
    qr_payload: 'upi://pay?pa=a@b',
  },
  redirect: {
    to: ['gpay://pay', 'phonepe://pay'],
    on_success: 'https://shop.example.com/ok',
    on_fail: 'https://shop.example.com/fail',
  },
  status: {
    status: 'success',
    final: true,
    success: true,
    error: null,
    history: [
      { status: 'created', final: false, success: null, created: '2026-11-21T10:00:00.007Z', amount: AMOUNT },
      {
        status: 'processing',
        final: false,
        success: null,
        created: '2026-11-21T10:00:01.007Z',
        amount: AMOUNT,
      },
      {
        status: 'success',
        final: true,
        success: true,
        created: '2026-11-21T10:00:03.007Z',
        reason: 'confirmed',
        amount: AMOUNT,
      },
    ],
  },
  timestamps: {
    created: '2026-11-21T10:00:00.007Z',
    updated: '2026-11-21T10:00:03.007Z',
    finished: '2026-11-21T10:00:02.007Z',
  },
  destination: 'in',
  operations: [
    {
      id: '019aa5b0-7c00-7000-8000-000000000002',
      operation_type: 'deposit',
      amount: AMOUNT,
      timestamps: { created: '2026-11-21T10:00:00.007Z' },
      status: { status: 'success', final: true, success: true, error: null },
    },
  ],
  service_id: 501,
}

// P11
test('the response to a create shows all fields', () => {
  expect(paymentObject(fullPayment(), 'create')).toStrictEqual(FULL)
})

test('payment.status shows all fields but the bank', () => {
  const { bank: _, ...receiver } = FULL.receiver
  expect(paymentObject(fullPayment(), 'status')).toStrictEqual({ ...FULL, receiver })
})

test('a callback shows neither the bank nor the service_id, description and redirect', () => {
  const { service_id, description, redirect, ...callback_fields } = FULL
  const { bank: _, ...receiver } = FULL.receiver
  expect(paymentObject(fullPayment(), 'callback')).toStrictEqual({ ...callback_fields, receiver })
})

// E15
test('an unknown field is absent, never null', () => {
  const bare = paymentObject(barePayment(), 'create')
  expect(Object.keys(bare)).toEqual([
    'identifiers',
    'amount',
    'status',
    'timestamps',
    'destination',
    'operations',
    'service_id',
  ])
  expect(bare.identifiers).toStrictEqual({ c_id: 'order-1', h_id: '100000000000000001' })
  expect(bare.timestamps).not.toHaveProperty('finished')
  const nulls = JSON.stringify(bare).match(/"(\w+)":null/g)
  expect(new Set(nulls)).toEqual(new Set(['"success":null', '"error":null']))
})

test('a group without a known field is absent, but a receiver may be empty', () => {
  const payment = barePayment({
    details: { payer: { person: {}, customerAccount: {} }, redirect: {} },
    receiver: { bank: { name: 'A Bank' } },
    redirect: {},
  })
  const shown = paymentObject(payment, 'status')
  expect(shown).not.toHaveProperty('payer')
  expect(shown).not.toHaveProperty('redirect')
  expect(shown.receiver).toStrictEqual({})
})

test('redirect.to is a text for a payment page', () => {
  const payment = barePayment({ redirect: { toUrl: 'https://pay.example.com/1' } })
  expect(paymentObject(payment, 'create').redirect).toStrictEqual({ to: 'https://pay.example.com/1' })
})

// spec: Payment statuses
test.each([
  [PaymentStatus.CREATED, 'created', false, null],
  [PaymentStatus.PROCESSING, 'processing', false, null],
  [PaymentStatus.SUCCESS, 'success', true, true],
  [PaymentStatus.ERROR, 'error', true, false],
  [PaymentStatus.CANCELED, 'canceled', true, false],
  [PaymentStatus.DECLINED, 'declined', true, false],
  [PaymentStatus.REFUNDED, 'refunded', true, true],
  [PaymentStatus.PARTIALLY_REFUNDED, 'partially_refunded', true, true],
])('status %s is %s', (status, word, final, success) => {
  const errorCode = success === false ? 6044 : undefined
  const shown = paymentObject(fullPayment({ status, ...(errorCode ? { errorCode } : {}) }), 'status')
  expect(shown.status).toMatchObject({ status: word, final, success, error: errorCode ?? null })
  expect(Object.hasOwn(shown.timestamps, 'finished')).toBe(final)
})

test.each([
  [OperationType.DEPOSIT, 'deposit'],
  [OperationType.WITHDRAWAL, 'withdrawal'],
  [OperationType.REFUND, 'refund'],
])('operation type %s is %s', (type, word) => {
  const [operation] = barePayment({
    operations: [
      {
        operationId: 'o',
        type,
        amount: { minor: 1n, currency: 'INR' },
        createTime: { seconds: 0n },
        status: PaymentStatus.ERROR,
        errorCode: 7001,
      },
    ],
  }).operations
  expect(OPERATION_VIEW.render(operation)).toMatchObject({
    operation_type: word,
    timestamps: { created: '1970-01-01T00:00:00.000Z' },
    status: { status: 'error', error: 7001 },
  })
})

test('the largest amount is exact, and a larger one throws', () => {
  const of = (minor: bigint) => barePayment({ amount: { minor, currency: 'INR' } })
  expect(paymentObject(of(2n ** 53n - 1n), 'create').amount.value).toBe(9_007_199_254_740_991)
  expect(() => paymentObject(of(2n ** 53n), 'create')).toThrow(RangeError)
})

test('unknown statuses and directions throw', () => {
  expect(() => paymentObject(barePayment({ status: PaymentStatus.UNSPECIFIED }), 'create')).toThrow('unknown')
  expect(() => paymentObject(barePayment({ direction: Direction.UNSPECIFIED }), 'create')).toThrow('unknown')
})

test('an enum value that this build does not know is named with its field', () => {
  const operation = { ...fullPayment().operations[0], type: 9 } as Payment['operations'][number]
  expect(() => OPERATION_VIEW.render(operation)).toThrow(new TypeError('unknown type 9'))
})
