import { OPERATION_WORDS, STATUS_ROWS } from '#lib/contract/public-payment/public-status.ts'
import { type JsonSchema, record } from './json-schema.ts'
import { reference } from './names.ts'

const text = (description?: string): JsonSchema => ({
  type: 'string',
  ...(description ? { description } : {}),
})
const integer = (description?: string): JsonSchema => ({
  type: 'integer',
  ...(description ? { description } : {}),
})
const instant = (description?: string): JsonSchema => ({ ...text(description), format: 'date-time' })
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

/** An object of which nothing has to be known, but whatever is there is one of these. */
const known = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  record(properties, Object.keys(properties))

const STANDING = {
  status: {
    type: 'string',
    enum: STATUS_ROWS.map(({ status }) => status),
    description: STATUS_ROWS.map(
      ({ status, final, success }) => `\`${status}\`: final ${final}, success ${success}`,
    ).join('; '),
  },
  final: { type: 'boolean', description: 'Whether the payment has ended.' },
  success: { type: ['boolean', 'null'], description: 'Null while it has not ended.' },
}

const ERROR = { type: ['integer', 'null'], description: 'Why it ended badly: a code of the error table.' }

const PERSON = known({ first_name: text(), last_name: text() })

const PAYER = known({
  email: text(),
  phone: text(),
  person: PERSON,
  customer_account: known({ id: text() }),
})

/** The longest `qr_payload`, in characters (spec: Payment object). */
export const QR_PAYLOAD_MAX = 4096

const RECEIVER = {
  bank_account: known({
    id: text('Account number, IBAN, CBU, CVU or CLABE.'),
    name: text('Its holder.'),
  }),
  phone: text(),
  document: known({ type: text(), number: text() }),
  qr_payload: { ...text('What to show as a QR code.'), maxLength: QR_PAYLOAD_MAX },
}

const BANK = known({ name: text('Bank or network.'), code: text() })

const REDIRECT = known({
  to: {
    description: 'A page to send the customer to, or links into payment apps.',
    anyOf: [text(), listOf(text())],
  },
  on_success: text(),
  on_fail: text(),
})

const HISTORY_ENTRY = record(
  { ...STANDING, created: instant(), reason: text(), amount: reference('Amount') },
  ['reason'],
)

/** A payment (spec: Payment object). What is not known is absent; the bank stands in the answer of the create only. */
const payment = (receiver: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  record(
    {
      identifiers: record(
        {
          c_id: text('Your reference.'),
          h_id: text('Ours: a UUID, or digits.'),
          p_id: text('The provider’s.'),
          utr: text('The bank’s tracking reference.'),
        },
        ['p_id', 'utr'],
      ),
      amount: reference('Amount'),
      description: text(),
      payer: PAYER,
      receiver: known(receiver),
      redirect: REDIRECT,
      status: record({ ...STANDING, error: ERROR, history: listOf(HISTORY_ENTRY) }),
      timestamps: record(
        { created: instant(), updated: instant(), finished: instant('When the provider confirmed it.') },
        ['finished'],
      ),
      destination: { enum: ['in', 'out'], description: 'A deposit or a withdrawal.' },
      operations: listOf(reference('Operation')),
      service_id: integer('The route.'),
    },
    ['description', 'payer', 'receiver', 'redirect', 'service_id'],
  )

const paymentResult = (name: string): JsonSchema =>
  record({ payment: reference(name), operation: reference('Operation') })

const BALANCE_AMOUNT = record({
  value: integer('What can be spent, in minor units. It may exceed 2^53: read it as a 64-bit integer.'),
  value_freezing: integer('What open withdrawals hold, in minor units.'),
  value_blocking: { const: 0, description: 'For compatibility.' },
  currency: text('ISO 4217 code.'),
  enabled: { const: true, description: 'For compatibility.' },
})

/** The schemas of what methods answer as `result`, and of what those are made of, by their names in the document. */
export const RESULT_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Amount: record({ value: integer('Minor units.'), currency: text('ISO 4217 code.') }),
  Operation: {
    description: 'One movement of money of a payment.',
    ...record({
      id: text(),
      operation_type: { type: 'string', enum: OPERATION_WORDS },
      amount: reference('Amount'),
      timestamps: record({ created: instant() }),
      status: record({ ...STANDING, error: ERROR }),
    }),
  },
  Payment: payment(RECEIVER),
  CreatedPayment: payment({ ...RECEIVER, bank: BANK }),
  PaymentResult: paymentResult('Payment'),
  CreatedPaymentResult: paymentResult('CreatedPayment'),
  BalanceResult: record({
    balance: record({
      id: integer('The merchant.'),
      amounts: listOf(BALANCE_AMOUNT),
      enabled: { const: true, description: 'For compatibility.' },
    }),
  }),
  PongResult: record({ message: { const: 'pong' } }),
  ResendResult: record({
    payment_id: text(),
    operation_id: text(),
    delivery_ids: listOf(text('The `X-Webhook-Id` of a delivery that was queued.')),
    status: { const: 'queued' },
  }),
}
