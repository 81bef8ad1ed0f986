import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import type {
  HistoryEntry,
  Operation,
  Payer,
  Payment,
  Person,
  Receiver,
  Redirect,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { type PublicOperationType, publicOperationType, type StatusRow, statusRow } from './public-status.ts'
import { type AmountObject, amountObject, definedFields, instantText, safeNumber } from './public-values.ts'

/** Who reads the payment: the answer of its create shows most, a callback least (spec: Payment object). */
export type Audience = 'create' | 'status' | 'callback'

/** A movement of money as merchants see it. */
export interface OperationObject {
  readonly id: string
  readonly operation_type: PublicOperationType
  readonly amount: AmountObject
  readonly timestamps: { readonly created: string }
  readonly status: StatusRow & { readonly error: number | null }
}

/** A status that the payment has had, as merchants see it. */
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
  readonly destination: 'in' | 'out'
  readonly operations: readonly OperationObject[]
  readonly service_id?: number
}

/**
 * The public payment object, the one place that makes it: answers and callbacks agree by construction. Throws when
 * the message is not a whole payment or uses words that this version does not know.
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
    ...(audience === 'callback' ? {} : merchantsOwn(payment)),
    status: { ...status, error: payment.errorCode ?? null, history: payment.history.map(historyObject) },
    timestamps: {
      created: instantText(payment.createTime),
      updated: instantText(payment.updateTime),
      ...finished,
    },
    destination: destination(payment.direction),
    operations: payment.operations.map(operationObject),
  }
}

/** One movement of money; the first of a payment is its primary one, which answers show as `result.operation`. */
export function operationObject(operation: Operation): OperationObject {
  return {
    id: operation.operationId,
    operation_type: publicOperationType(operation.type),
    amount: amountObject(operation.amount),
    timestamps: { created: instantText(operation.createTime) },
    status: { ...statusRow(operation.status), error: operation.errorCode ?? null },
  }
}

/** What callbacks do not repeat to the merchant. */
function merchantsOwn(payment: Payment): Partial<PaymentObject> {
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

/** May be empty (spec): a receiver of whom only the bank is known is shown without it to all but the create. */
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

function destination(direction: Direction): 'in' | 'out' {
  if (direction === Direction.IN) return 'in'
  if (direction === Direction.OUT) return 'out'
  throw new TypeError(`unknown direction ${direction}`)
}
