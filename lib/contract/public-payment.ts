import { type DescMessage, type MessageShape, toJson } from '@bufbuild/protobuf'
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import {
  CustomerSchema,
  type HistoryEntry,
  type Operation,
  OperationType,
  type Payment,
  type PaymentStatus as PaymentStatusProto,
  type Receiver,
  ReceiverSchema,
  type Redirect,
  type ReturnPages,
  ReturnPagesSchema,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { DIRECTIONS } from './payment-methods.ts'
import { isFinal, PAYMENT_STATUSES, type PaymentStatus } from './payment-status.ts'
import { createEnumMap } from './proto-fields.ts'

/** The public amount. The gateway refuses amounts that a JSON number cannot hold (E6), so one here is a fault. */
export function amountObject(money: Money | undefined) {
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

/** The types of operations in RPCs, under their public names (P11). */
export const OPERATION_TYPES = createEnumMap<'deposit' | 'withdrawal' | 'refund', OperationType>({
  deposit: OperationType.DEPOSIT,
  withdrawal: OperationType.WITHDRAWAL,
  refund: OperationType.REFUND,
})

/** Where the payment object is shown: a create shows most fields, a callback fewest (spec: Payment object). */
export type Audience = 'create' | 'status' | 'callback'

/**
 * Makes the public payment object. Responses and callbacks both use this function, so that they cannot differ. Throws
 * for a message without a required field or with an enum value that this version does not know.
 */
export function paymentObject(payment: Payment, audience: Audience) {
  const { cId: c_id, hId: h_id, pId: p_id, utr } = payment
  const status = statusRow(payment.status)
  const finished = status.final && payment.finishTime ? { finished: instantText(payment.finishTime) } : {}
  const payer = jsonObject(CustomerSchema, payment.details?.payer)
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
export function operationObject(operation: Operation) {
  return {
    id: operation.operationId,
    operation_type: OPERATION_TYPES.fromProtoOrThrow(operation.type, 'operation type'),
    amount: amountObject(operation.amount),
    timestamps: { created: instantText(operation.createTime) },
    status: { ...statusRow(operation.status), error: operation.errorCode ?? null },
  }
}

/** The fields that callbacks do not contain. */
function fieldsHiddenFromCallbacks({ details, redirect, serviceId }: Payment) {
  const shown = {
    description: details?.description,
    redirect: redirectObject(redirect, details?.redirect),
  }
  return { ...definedFields(shown), service_id: safeNumber(serviceId) }
}

function historyObject({ status, createTime, reason, amount }: HistoryEntry) {
  return {
    ...statusRow(status),
    created: instantText(createTime),
    ...definedFields({ reason }),
    amount: amountObject(amount),
  }
}

/**
 * The fields of a message that have a value, under the names of its proto, which are the public names. Leaves out objects
 * without fields, at any depth; `undefined` when nothing remains.
 */
function jsonObject<D extends DescMessage>(
  schema: D,
  message: MessageShape<D> | undefined,
): object | undefined {
  const json = message && Object(toJson(schema, message, PUBLIC_NAMES))
  return json && removeEmptyObjects(json) ? json : undefined
}

const PUBLIC_NAMES = { useProtoFieldName: true } as const

/** Changes the object in place, because every response of a payment takes this way. `false` when it is empty itself. */
function removeEmptyObjects(object: Record<string, unknown>): boolean {
  let has_fields = false
  for (const name in object) {
    const value = object[name]
    if (typeof value === 'object' && !removeEmptyObjects(Object(value))) delete object[name]
    else has_fields = true
  }
  return has_fields
}

/** May be empty (spec: Payment object): only the response to a create shows the bank, which may be the only known field. */
function receiverObject({ bank, ...receiver }: Receiver, audience: Audience): object {
  const shown = audience === 'create' && bank ? { ...receiver, bank } : receiver
  return jsonObject(ReceiverSchema, shown) ?? {}
}

function redirectObject(redirect: Redirect | undefined, pages: ReturnPages | undefined): object | undefined {
  const { toUrl, toLinks = [] } = redirect ?? {}
  const to = toUrl ?? (toLinks.length > 0 ? toLinks : undefined)
  return definedFields({ to, ...jsonObject(ReturnPagesSchema, pages) })
}
