import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import {
  type Audience,
  OPERATION_TYPES,
  operationObject,
  paymentObject,
  STATUS_ROWS,
} from '#lib/contract/public-payment.ts'
import { componentRef, type JsonSchema, record } from '#lib/contract/view.ts'

/** Makes `{payment, operation}`: the payment and its primary operation (spec: Payment object). */
export function toPaymentResult(payment: Payment | undefined, audience: Audience): unknown {
  const primary = payment?.operations[0]
  if (payment === undefined || primary === undefined)
    throw new TypeError('payments answered without a payment or its operation')
  return { payment: paymentObject(payment, audience), operation: operationObject(primary) }
}

const text = (description?: string): JsonSchema => ({
  type: 'string',
  ...(description ? { description } : {}),
})
const instant = (description?: string): JsonSchema => ({ ...text(description), format: 'date-time' })
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

/** An object whose properties may all be absent. */
const partial = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  record(properties, Object.keys(properties))

const STATUS_FIELDS = {
  status: {
    type: 'string',
    enum: STATUS_ROWS.map(({ status }) => status),
    description: STATUS_ROWS.map(
      ({ status, final, success }) => `\`${status}\`: final ${final}, success ${success}`,
    ).join('; '),
  },
  final: { type: 'boolean', description: 'Whether the payment has ended.' },
  success: { type: ['boolean', 'null'], description: 'Null until the payment has ended.' },
}

const ERROR = {
  type: ['integer', 'null'],
  description: 'Why the payment failed: a code of the error table.',
}

const PAYER = partial({
  email: text(),
  phone: text(),
  person: partial({ first_name: text(), last_name: text() }),
  customer_account: partial({ id: text() }),
})

/** The greatest length of `qr_payload`, in characters (spec: Payment object). */
export const QR_PAYLOAD_MAX = 4096

const RECEIVER = {
  bank_account: partial({
    id: text('Account number, IBAN, CBU, CVU or CLABE.'),
    name: text('The holder of the account.'),
  }),
  phone: text('The phone number of a person who receives the money.'),
  document: partial({ type: text('The kind of the identity document of that person.'), number: text() }),
  qr_payload: { ...text('The content of a QR code to show to the customer.'), maxLength: QR_PAYLOAD_MAX },
}

const BANK = partial({ name: text('The bank or network.'), code: text() })

const REDIRECT = partial({
  to: {
    description: 'A page to send the customer to, or a list of links that open payment apps.',
    anyOf: [text(), listOf(text())],
  },
  on_success: text(),
  on_fail: text(),
})

const HISTORY_ENTRY = record(
  { ...STATUS_FIELDS, created: instant(), reason: text(), amount: componentRef('Amount') },
  ['reason'],
)

/** A payment (spec: Payment object). What is not known is absent. Only the response to a create names the bank. */
function paymentSchema(receiver: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const identifiers = {
    c_id: text('Your own reference.'),
    h_id: text('Our identifier: a UUID, or digits.'),
    p_id: text('The identifier of the provider.'),
    utr: text('The tracking reference of the bank.'),
  }
  const timestamps = {
    created: instant(),
    updated: instant(),
    finished: instant('When the provider confirmed the payment.'),
  }
  return record(
    {
      identifiers: record(identifiers, ['p_id', 'utr']),
      amount: componentRef('Amount'),
      description: text(),
      payer: PAYER,
      receiver: partial(receiver),
      redirect: REDIRECT,
      status: record({ ...STATUS_FIELDS, error: ERROR, history: listOf(HISTORY_ENTRY) }),
      timestamps: record(timestamps, ['finished']),
      destination: { enum: ['in', 'out'], description: '`in` is a deposit, `out` a withdrawal.' },
      operations: listOf(componentRef('Operation')),
      service_id: { type: 'integer', description: 'The number of the route.' },
    },
    ['description', 'payer', 'receiver', 'redirect', 'service_id'],
  )
}

/** The schemas that results with payments refer to. */
export const PAYMENT_COMPONENTS: Readonly<Record<string, JsonSchema>> = {
  Amount: record({
    value: { type: 'integer', description: 'In minor units, such as cents.' },
    currency: text('An ISO 4217 code.'),
  }),
  Operation: {
    description: 'One movement of money of a payment.',
    ...record({
      id: text(),
      operation_type: { type: 'string', enum: OPERATION_TYPES.names },
      amount: componentRef('Amount'),
      timestamps: record({ created: instant() }),
      status: record({ ...STATUS_FIELDS, error: ERROR }),
    }),
  },
  Payment: paymentSchema(RECEIVER),
  CreatedPayment: paymentSchema({ ...RECEIVER, bank: BANK }),
}

/** The result of methods that show a payment. */
export const PAYMENT_RESULT: JsonSchema = paymentResultOf('Payment')

/** The result of methods that create a payment: it also names the bank to pay to. */
export const CREATED_PAYMENT_RESULT: JsonSchema = paymentResultOf('CreatedPayment')

function paymentResultOf(component: keyof typeof PAYMENT_COMPONENTS): JsonSchema {
  return record({ payment: componentRef(component), operation: componentRef('Operation') })
}
