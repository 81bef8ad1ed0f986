import { OperationType, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'

/** The public words for how a payment stands (spec: Payment statuses). */
export type PublicStatus =
  | 'created'
  | 'processing'
  | 'success'
  | 'error'
  | 'canceled'
  | 'declined'
  | 'refunded'
  | 'partially_refunded'

/** One row of the spec's table of statuses: the word, whether the payment has ended, and how. */
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

/** The spec's table of statuses, for the merchants' reference. */
export const STATUS_ROWS: readonly StatusRow[] = [...STATUSES.values()]

/** What merchants are told of a status. One that this version does not know is a fault, never a guess. */
export function statusRow(status: PaymentStatus): StatusRow {
  return known(STATUSES.get(status), 'payment status', status)
}

/** The kinds of a movement of money (P11). */
export type PublicOperationType = 'deposit' | 'withdrawal' | 'refund'

const OPERATIONS: ReadonlyMap<OperationType, PublicOperationType> = new Map([
  [OperationType.DEPOSIT, 'deposit'],
  [OperationType.WITHDRAWAL, 'withdrawal'],
  [OperationType.REFUND, 'refund'],
])

/** Every kind of movement, for the merchants' reference. */
export const PUBLIC_OPERATION_TYPES: readonly PublicOperationType[] = [...OPERATIONS.values()]

/** The public word for a kind of movement; an unknown one is a fault. */
export function publicOperationType(type: OperationType): PublicOperationType {
  return known(OPERATIONS.get(type), 'operation type', type)
}

function known<T>(found: T | undefined, what: string, value: number): T {
  if (found === undefined) throw new TypeError(`unknown ${what} ${value}`)
  return found
}
