import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import {
  type Bank,
  type BankAccount,
  type Customer,
  type CustomerAccount,
  type Document,
  type HistoryEntry,
  type Operation,
  OperationType,
  type Payment,
  type Person,
  type Receiver,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { DIRECTIONS } from './payment-methods.ts'
import { isFinal, PAYMENT_STATUSES, type PaymentStatus } from './payment-status.ts'
import { createEnumMap } from './proto-fields.ts'
import {
  defineView,
  field,
  hiddenFromCallbacks,
  instantField,
  listField,
  objectField,
  optionalField,
  partialField,
  textField,
  type ViewField,
  within,
  wordField,
} from './view.ts'

/** A 64-bit integer as a JSON number. Throws `RangeError` when that would round it. */
export function safeNumber(value: bigint | string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw new RangeError('an integer does not fit a JSON number')
  return number
}

/** An amount. The gateway refuses amounts that a JSON number cannot hold (E6), so one here is a fault. */
export const AMOUNT_VIEW = defineView<Money>('Amount', {
  value: field({ type: 'integer', description: 'In minor units, such as cents.' }, ({ minor }) =>
    safeNumber(minor),
  ),
  currency: textField(({ currency }) => currency, { description: 'An ISO 4217 code.' }),
})

/** Whether a payment with the status has succeeded (spec: Payment statuses); null while the status is not final. */
const SUCCESS: Readonly<Record<PaymentStatus, boolean | null>> = {
  created: null,
  processing: null,
  success: true,
  error: false,
  canceled: false,
  declined: false,
  refunded: true,
  partially_refunded: true,
}

/** Throws `TypeError` for a status that this version does not know. */
function statusOf({ status }: Pick<Payment, 'status'>): PaymentStatus {
  return PAYMENT_STATUSES.fromProtoOrThrow(status, 'payment status')
}

const STATUS_FIELDS = {
  status: field<Pick<Payment, 'status'>>(
    {
      type: 'string',
      enum: PAYMENT_STATUSES.names,
      description: PAYMENT_STATUSES.names
        .map((status) => `\`${status}\`: final ${isFinal(status)}, success ${SUCCESS[status]}`)
        .join('; '),
    },
    statusOf,
  ),
  final: field<Pick<Payment, 'status'>>(
    { type: 'boolean', description: 'Whether the payment has ended.' },
    (message) => isFinal(statusOf(message)),
  ),
  success: field<Pick<Payment, 'status'>>(
    { type: ['boolean', 'null'], description: 'Null until the payment has ended.' },
    (message) => SUCCESS[statusOf(message)],
  ),
}

const ERROR = field<Pick<Payment, 'errorCode'>>(
  { type: ['integer', 'null'], description: 'Why the payment failed: a code of the error table.' },
  ({ errorCode }) => errorCode ?? null,
)

/** The types of operations in RPCs, under their public names (P11). */
export const OPERATION_TYPES = createEnumMap<'deposit' | 'withdrawal' | 'refund', OperationType>({
  deposit: OperationType.DEPOSIT,
  withdrawal: OperationType.WITHDRAWAL,
  refund: OperationType.REFUND,
})

/** A movement of money. The first operation of a payment is also shown as `result.operation`. */
export const OPERATION_VIEW = defineView<Operation>(
  'Operation',
  {
    id: textField(({ operationId }) => operationId),
    operation_type: wordField(OPERATION_TYPES, 'type'),
    amount: within(({ amount }) => amount, AMOUNT_VIEW),
    timestamps: objectField({ created: instantField(({ createTime }) => createTime) }),
    status: objectField<Operation>({ ...STATUS_FIELDS, error: ERROR }),
  },
  { description: 'One movement of money of a payment.' },
)

const HISTORY_ENTRY = objectField<HistoryEntry>({
  ...STATUS_FIELDS,
  created: instantField(({ createTime }) => createTime),
  reason: optionalField(textField(({ reason }) => reason)),
  amount: within(({ amount }) => amount, AMOUNT_VIEW),
})

const PAYER = partialField<Customer>({
  email: textField(({ email }) => email),
  phone: textField(({ phone }) => phone),
  person: within(
    ({ person }) => person,
    partialField<Person>({
      first_name: textField(({ firstName }) => firstName),
      last_name: textField(({ lastName }) => lastName),
    }),
  ),
  customer_account: within(
    ({ customerAccount }) => customerAccount,
    partialField<CustomerAccount>({ id: textField(({ id }) => id) }),
  ),
})

/** The greatest length of `qr_payload`, in characters (spec: Payment object). */
export const QR_PAYLOAD_MAX = 4096

const RECEIVER_FIELDS: Readonly<Record<string, ViewField<Receiver>>> = {
  bank_account: within(
    ({ bankAccount }) => bankAccount,
    partialField<BankAccount>({
      id: textField(({ id }) => id, { description: 'Account number, IBAN, CBU, CVU or CLABE.' }),
      name: textField(({ name }) => name, { description: 'The holder of the account.' }),
    }),
  ),
  phone: optionalField(
    textField(({ phone }) => phone, { description: 'The phone number of a person who receives the money.' }),
  ),
  document: within(
    ({ document }) => document,
    partialField<Document>({
      type: textField(({ type }) => type, {
        description: 'The kind of the identity document of that person.',
      }),
      number: textField(({ number }) => number),
    }),
  ),
  qr_payload: optionalField(
    textField(({ qrPayload }) => qrPayload, {
      description: 'The content of a QR code to show to the customer.',
      maxLength: QR_PAYLOAD_MAX,
    }),
  ),
}

const BANK = partialField<Bank>({
  name: textField(({ name }) => name, { description: 'The bank or network.' }),
  code: textField(({ code }) => code),
})

const REDIRECT = partialField<Payment>({
  to: field(
    {
      description: 'A page to send the customer to, or a list of links that open payment apps.',
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    },
    ({ redirect: { toUrl, toLinks } = {} }) => toUrl ?? (toLinks?.length ? toLinks : undefined),
  ),
  on_success: textField(({ details }) => details?.redirect?.onSuccess),
  on_fail: textField(({ details }) => details?.redirect?.onFail),
})

const FINISH_TIME = instantField<Payment>(({ finishTime }) => finishTime)

/**
 * A payment (spec: Payment object). Responses and callbacks both use its view, so that they cannot differ. What is not known
 * is absent, never null (E15). A receiver may be empty, because only the response to a create shows the bank.
 */
function definePaymentView(name: string, receiver_fields: typeof RECEIVER_FIELDS) {
  return defineView<Payment>(name, {
    identifiers: objectField({
      c_id: textField(({ cId }) => cId, { description: 'Your own reference.' }),
      h_id: textField(({ hId }) => hId, { description: 'Our identifier: a UUID, or digits.' }),
      p_id: optionalField(textField(({ pId }) => pId, { description: 'The identifier of the provider.' })),
      utr: optionalField(textField(({ utr }) => utr, { description: 'The tracking reference of the bank.' })),
    }),
    amount: within(({ amount }) => amount, AMOUNT_VIEW),
    description: optionalField(hiddenFromCallbacks(textField(({ details }) => details?.description))),
    payer: within(({ details }) => details?.payer, PAYER),
    receiver: optionalField(within(({ receiver }) => receiver, objectField(receiver_fields))),
    redirect: hiddenFromCallbacks(REDIRECT),
    status: objectField({
      ...STATUS_FIELDS,
      error: ERROR,
      history: listField(HISTORY_ENTRY, ({ history }) => history),
    }),
    timestamps: objectField({
      created: instantField(({ createTime }) => createTime),
      updated: instantField(({ updateTime }) => updateTime),
      finished: optionalField(
        field(
          { type: 'string', description: 'When the provider confirmed the payment.', format: 'date-time' },
          (payment) => (isFinal(statusOf(payment)) ? FINISH_TIME.read(payment, 'response') : undefined),
        ),
      ),
    }),
    destination: field(
      { type: 'string', enum: ['in', 'out'], description: '`in` is a deposit, `out` a withdrawal.' },
      ({ direction }) => DIRECTIONS.fromProtoOrThrow(direction, 'direction'),
    ),
    operations: listField(OPERATION_VIEW, ({ operations }) => operations),
    service_id: optionalField(
      hiddenFromCallbacks(
        field({ type: 'integer', description: 'The number of the route.' }, ({ serviceId }) =>
          safeNumber(serviceId),
        ),
      ),
    ),
  })
}

/** A payment, in callbacks and in responses of methods that show one. */
export const PAYMENT_VIEW = definePaymentView('Payment', RECEIVER_FIELDS)

/** A payment in the response of the method that created it: it also names the bank to pay to. */
export const CREATED_PAYMENT_VIEW = definePaymentView('CreatedPayment', {
  ...RECEIVER_FIELDS,
  bank: within(({ bank }) => bank, BANK),
})
