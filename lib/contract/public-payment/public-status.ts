import { OperationType, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'

/** The public status of a payment (spec: Payment statuses). */
export type PublicStatus =
  | 'created'
  | 'processing'
  | 'success'
  | 'error'
  | 'canceled'
  | 'declined'
  | 'refunded'
  | 'partially_refunded'

/** One row of the table of statuses (spec: Payment statuses). `success` is null while the status is not final. */
export interface StatusRow {
  readonly status: PublicStatus
  readonly final: boolean
  readonly success: boolean | null
}

const row = (status: PublicStatus, final: boolean, success: boolean | null): StatusRow => ({
  status,
  final,
  success,
})

const STATUSES: ReadonlyMap<PaymentStatus, StatusRow> = new Map([
  [PaymentStatus.CREATED, row('created', false, null)],
  [PaymentStatus.PROCESSING, row('processing', false, null)],
  [PaymentStatus.SUCCESS, row('success', true, true)],
  [PaymentStatus.ERROR, row('error', true, false)],
  [PaymentStatus.CANCELED, row('canceled', true, false)],
  [PaymentStatus.DECLINED, row('declined', true, false)],
  [PaymentStatus.REFUNDED, row('refunded', true, true)],
  [PaymentStatus.PARTIALLY_REFUNDED, row('partially_refunded', true, true)],
])

/** All rows of the table, for the merchants' reference. */
export const STATUS_ROWS: readonly StatusRow[] = [...STATUSES.values()]

/** The row of a status. Throws `TypeError` for a status that this version does not know. */
export function statusRow(status: PaymentStatus): StatusRow {
  return requireKnown(STATUSES.get(status), 'payment status', status)
}

/** The public type of an operation (P11). */
export type PublicOperationType = 'deposit' | 'withdrawal' | 'refund'

const OPERATIONS: ReadonlyMap<OperationType, PublicOperationType> = new Map([
  [OperationType.DEPOSIT, 'deposit'],
  [OperationType.WITHDRAWAL, 'withdrawal'],
  [OperationType.REFUND, 'refund'],
])

/** All operation types, for the merchants' reference. */
export const PUBLIC_OPERATION_TYPES: readonly PublicOperationType[] = [...OPERATIONS.values()]

/** The public type of an operation. Throws `TypeError` for a type that this version does not know. */
export function publicOperationType(type: OperationType): PublicOperationType {
  return requireKnown(OPERATIONS.get(type), 'operation type', type)
}

function requireKnown<T>(entry: T | undefined, name: string, value: number): T {
  if (entry === undefined) throw new TypeError(`unknown ${name} ${value}`)
  return entry
}
