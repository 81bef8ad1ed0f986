import {
  OperationType,
  type PaymentStatus as PaymentStatusProto,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { isFinal, PAYMENT_STATUSES, type PaymentStatus } from '#lib/contract/payment-status.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'

/** One row of the table of statuses (spec: Payment statuses). `success` is null while the status is not final. */
export interface StatusRow {
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
export function statusRow(status: PaymentStatusProto): StatusRow {
  return ROWS[PAYMENT_STATUSES.fromProtoOrThrow(status, 'payment status')]
}

/** The public type of an operation (P11). */
export type PublicOperationType = 'deposit' | 'withdrawal' | 'refund'

/** The operation types in RPCs. */
export const OPERATION_TYPES = createEnumMap<PublicOperationType, OperationType>({
  deposit: OperationType.DEPOSIT,
  withdrawal: OperationType.WITHDRAWAL,
  refund: OperationType.REFUND,
})
