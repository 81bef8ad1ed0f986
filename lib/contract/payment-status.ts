import { PaymentStatus as PaymentStatusProto } from '#gen/multihub/payments/v1/payment_pb.ts'
import { createEnumMap } from './proto-fields.ts'

/** The status of a payment, under its public name (spec: Payment statuses). */
export type PaymentStatus =
  | 'created'
  | 'processing'
  | 'success'
  | 'error'
  | 'canceled'
  | 'declined'
  | 'refunded'
  | 'partially_refunded'

/** The statuses in RPCs. */
export const PAYMENT_STATUSES = createEnumMap<PaymentStatus, PaymentStatusProto>({
  created: PaymentStatusProto.CREATED,
  processing: PaymentStatusProto.PROCESSING,
  success: PaymentStatusProto.SUCCESS,
  error: PaymentStatusProto.ERROR,
  canceled: PaymentStatusProto.CANCELED,
  declined: PaymentStatusProto.DECLINED,
  refunded: PaymentStatusProto.REFUNDED,
  partially_refunded: PaymentStatusProto.PARTIALLY_REFUNDED,
})

/** Whether a status is final, as in the public `status.final`: no provider update can change it (P7). */
export function isFinal(status: PaymentStatus): boolean {
  return status !== 'created' && status !== 'processing'
}
