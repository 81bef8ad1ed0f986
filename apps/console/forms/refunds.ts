import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import type { Refund } from '#gen/multihub/support/v1/refund_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { type Act, act, moneyWords } from './act.ts'

const { approveRefund, rejectRefund, cancelRefund, answerRefund } = RefundService.method

/** What can be done with a refund. */
export const refund_acts: readonly Act<Refund>[] = [
  act({
    name: 'Approve',
    method: approveRefund,
    isOffered: ({ status }: Refund) => status === RefundStatus.PENDING,
    effects: ({ amount, merchantId, paymentCId }) => [
      `${moneyWords(amount)} is held from the available balance of merchant ${merchantId}, and the provider is asked to pay it back for payment ${paymentCId}.`,
      'It is refused when the balance is too low. When the provider refuses, the merchant has the money back.',
      'A payment to the customer cannot be undone.',
    ],
    request: ({ refundId }) => ({ refundId }),
  }),
  act({
    name: 'Reject',
    method: rejectRefund,
    isOffered: ({ status }: Refund) => status === RefundStatus.PENDING,
    effects: ({ amount }) => [
      `The refund of ${moneyWords(amount)} ends permanently. No money moves.`,
      'The merchant gets a callback, and reads your reason.',
    ],
    request: ({ refundId }) => ({ refundId }),
  }),
  act({
    name: 'Cancel',
    method: cancelRefund,
    isOffered: ({ status }: Refund) => status === RefundStatus.APPROVED,
    effects: ({ amount }) => [
      `The approved refund of ${moneyWords(amount)} ends, and its money is given back to the merchant.`,
      'It is refused when the provider may already have it.',
    ],
    request: ({ refundId }) => ({ refundId }),
  }),
  act({
    name: 'Answer',
    method: answerRefund,
    effects: (_refund: Refund) => ['The merchant reads this comment, and gets a callback.'],
    fields: () => [{ name: 'body', label: 'Comment', kind: 'lines' }],
    request: ({ refundId }) => ({ refundId }),
  }),
]
