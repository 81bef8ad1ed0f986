import { RefundStatus as RefundStatusProto } from '#gen/multihub/payments/v1/refund_pb.ts'
import { createEnumMap } from './proto-fields.ts'

/** The status of a refund, under its public name (S7). */
export type RefundStatus = 'pending' | 'approved' | 'rejected' | 'canceled' | 'completed' | 'failed'

/** The statuses in RPCs. */
export const REFUND_STATUSES = createEnumMap<RefundStatus, RefundStatusProto>({
  pending: RefundStatusProto.PENDING,
  approved: RefundStatusProto.APPROVED,
  rejected: RefundStatusProto.REJECTED,
  canceled: RefundStatusProto.CANCELED,
  completed: RefundStatusProto.COMPLETED,
  failed: RefundStatusProto.FAILED,
})
