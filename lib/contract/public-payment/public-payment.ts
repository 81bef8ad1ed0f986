import type {
  HistoryEntry,
  Operation,
  Payer,
  Payment,
  Person,
  Receiver,
  Redirect,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { DIRECTIONS, type Direction } from '#lib/contract/direction.ts'
import { OPERATION_TYPES, type PublicOperationType, type StatusRow, statusRow } from './public-status.ts'
import { type AmountObject, amountObject, definedFields, instantText, safeNumber } from './public-values.ts'

/** Where the payment object is shown: a create shows most fields, a callback fewest (spec: Payment object). */
export type Audience = 'create' | 'status' | 'callback'

/** A movement of money as merchants see it. */
export interface OperationObject {
  readonly id: string
  readonly operation_type: PublicOperationType
  readonly amount: AmountObject
  readonly timestamps: { readonly created: string }
  readonly status: StatusRow & { readonly error: number | null }
}

/** A history entry as merchants see it. */
export interface HistoryObject extends StatusRow {
  readonly created: string
  readonly reason?: string
  readonly amount: AmountObject
}

/** A payment as merchants see it. The groups of optional fields are plain JSON objects. */
export interface PaymentObject {
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
