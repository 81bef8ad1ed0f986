import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import {
  type HistoryEntry,
  type Operation,
  OperationType,
  type Payer,
  type Payment,
  type PaymentStatus as PaymentStatusProto,
  type Person,
  type Receiver,
  type Redirect,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { DIRECTIONS, type Direction } from './payment-methods.ts'
import { isFinal, PAYMENT_STATUSES, type PaymentStatus } from './payment-status.ts'
import { createEnumMap } from './proto-fields.ts'

/** An amount as merchants see it: minor units as a JSON number. */
export interface AmountObject {
  readonly value: number
  readonly currency: string
}

/** The public amount. The gateway refuses amounts that a JSON number cannot hold (E6), so one here is a fault. */
export function amountObject(money: Money | undefined): AmountObject {
  const { minor, currency } = required(money, 'amount')
  return { value: safeNumber(minor), currency }
}

/** A 64-bit integer as a JSON number. Throws `RangeError` when that would round it. */
export function safeNumber(value: bigint | string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw new RangeError('an integer does not fit a JSON number')
  return number
}

/** A time as `YYYY-MM-DDTHH:mm:ss.SSSZ` (E15). */
export function instantText(instant: Timestamp | undefined): string {
  return timestampDate(required(instant, 'time')).toISOString()
}

/** A field that every payment has, which proto3 cannot express. */
function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new TypeError(`a payment message has no ${name}`)
  return value
}

/**
 * The fields that have a value: an unknown optional field is absent from a response, never null (E15). Returns
 * `undefined` when no field has a value, so that the caller can omit the object too.
 */
function definedFields<T extends Readonly<Record<string, unknown>>>(fields: T): DefinedFields<T> | undefined {
  let defined: Record<string, unknown> | undefined
  for (const name in fields) {
    const value = fields[name]
    if (value === undefined) continue
    defined ??= {}
    defined[name] = value
  }
  return defined as DefinedFields<T> | undefined
}

/** The same fields; each may be absent but not undefined. */
type DefinedFields<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** One row of the table of statuses (spec: Payment statuses). `success` is null while the status is not final. */
interface StatusRow {
  readonly status: PaymentStatus
  readonly final: boolean
  readonly success: boolean | null
}

const row = (status: PaymentStatus, success: boolean | null): StatusRow => ({
  status,
  final: isFinal(status),
  success,
})

const ROWS: Readonly<Record<PaymentStatus, StatusRow>> = {
  created: row('created', null),
  processing: row('processing', null),
  success: row('success', true),
  error: row('error', false),
  canceled: row('canceled', false),
  declined: row('declined', false),
  refunded: row('refunded', true),
  partially_refunded: row('partially_refunded', true),
}

/** All rows of the table, for the API reference. */
export const STATUS_ROWS: readonly StatusRow[] = Object.values(ROWS)

/** The row of a status. Throws `TypeError` for a status that this version does not know. */
function statusRow(status: PaymentStatusProto): StatusRow {
  return ROWS[PAYMENT_STATUSES.fromProtoOrThrow(status, 'payment status')]
}

/** The public type of an operation (P11). */
type PublicOperationType = 'deposit' | 'withdrawal' | 'refund'

/** The operation types in RPCs. */
export const OPERATION_TYPES = createEnumMap<PublicOperationType, OperationType>({
  deposit: OperationType.DEPOSIT,
  withdrawal: OperationType.WITHDRAWAL,
  refund: OperationType.REFUND,
})

/** Where the payment object is shown: a create shows most fields, a callback fewest (spec: Payment object). */
export type Audience = 'create' | 'status' | 'callback'

/** A movement of money as merchants see it. */
interface OperationObject {
  readonly id: string
  readonly operation_type: PublicOperationType
  readonly amount: AmountObject
  readonly timestamps: { readonly created: string }
  readonly status: StatusRow & { readonly error: number | null }
}

/** A history entry as merchants see it. */
interface HistoryObject extends StatusRow {
  readonly created: string
  readonly reason?: string
  readonly amount: AmountObject
}

/** A payment as merchants see it. The groups of optional fields are plain JSON objects. */
interface PaymentObject {
  readonly identifiers: object
  readonly amount: AmountObject
  readonly description?: string
  readonly payer?: object
  readonly receiver?: object
  readonly redirect?: object
  readonly status: StatusRow & { readonly error: number | null; readonly history: readonly HistoryObject[] }
  readonly timestamps: { readonly created: string; readonly updated: string; readonly finished?: string }
  readonly destination: Direction
  readonly operations: readonly OperationObject[]
  readonly service_id?: number
}

/**
 * Makes the public payment object. Responses and callbacks both use this function, so that they cannot differ. Throws
 * for a message without a required field or with an enum value that this version does not know.
 */
export function paymentObject(payment: Payment, audience: Audience): PaymentObject {
  const { cId: c_id, hId: h_id, pId: p_id, utr } = payment
  const status = statusRow(payment.status)
  const finished = status.final && payment.finishTime ? { finished: instantText(payment.finishTime) } : {}
  const payer = payment.payer && payerObject(payment.payer)
  const receiver = payment.receiver && receiverObject(payment.receiver, audience)
  return {
    identifiers: { c_id, h_id, ...definedFields({ p_id, utr }) },
    amount: amountObject(payment.amount),
    ...definedFields({ payer, receiver }),
    ...(audience === 'callback' ? {} : fieldsHiddenFromCallbacks(payment)),
    status: { ...status, error: payment.errorCode ?? null, history: payment.history.map(historyObject) },
    timestamps: {
      created: instantText(payment.createTime),
      updated: instantText(payment.updateTime),
      ...finished,
    },
    destination: DIRECTIONS.fromProtoOrThrow(payment.direction, 'direction'),
    operations: payment.operations.map(operationObject),
  }
}

/** Makes the public operation. The first operation of a payment is also shown as `result.operation`. */
export function operationObject(operation: Operation): OperationObject {
  return {
    id: operation.operationId,
    operation_type: OPERATION_TYPES.fromProtoOrThrow(operation.type, 'operation type'),
    amount: amountObject(operation.amount),
    timestamps: { created: instantText(operation.createTime) },
    status: { ...statusRow(operation.status), error: operation.errorCode ?? null },
  }
}

/** The fields that callbacks do not contain. */
function fieldsHiddenFromCallbacks(payment: Payment): Partial<PaymentObject> {
  const { description, redirect } = payment
  return {
    ...definedFields({ description, redirect: redirect && redirectObject(redirect) }),
    service_id: safeNumber(payment.serviceId),
  }
}

function historyObject({ status, createTime, reason, amount }: HistoryEntry): HistoryObject {
  return {
    ...statusRow(status),
    created: instantText(createTime),
    ...definedFields({ reason }),
    amount: amountObject(amount),
  }
}

function payerObject({ email, phone, person, customerAccount }: Payer): object | undefined {
  const customer_account = customerAccount && definedFields({ id: customerAccount.id })
  return definedFields({ email, phone, person: person && personObject(person), customer_account })
}

function personObject({ firstName: first_name, lastName: last_name }: Person): object | undefined {
  return definedFields({ first_name, last_name })
}

/** May be empty (spec: Payment object): only the response to a create shows the bank, which may be the only known field. */
function receiverObject(receiver: Receiver, audience: Audience): object {
  const { bankAccount, bank, phone, document, qrPayload: qr_payload } = receiver
  const fields = {
    bank_account: bankAccount && definedFields({ id: bankAccount.id, name: bankAccount.name }),
    bank: audience === 'create' ? bank && definedFields({ name: bank.name, code: bank.code }) : undefined,
    phone,
    document: document && definedFields({ type: document.type, number: document.number }),
    qr_payload,
  }
  return definedFields(fields) ?? {}
}

function redirectObject({ toUrl, toLinks, onSuccess, onFail }: Redirect): object | undefined {
  const to = toUrl ?? (toLinks.length > 0 ? toLinks : undefined)
  return definedFields({ to, on_success: onSuccess, on_fail: onFail })
}
