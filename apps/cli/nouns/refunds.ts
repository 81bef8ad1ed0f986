import type { Noun } from './noun.ts'

/** The refunds that wait for a decision: REFUND_STATUS_PENDING. */
const PENDING = { list: 'listRefunds', fixed: { statuses: [1], oldestFirst: true } } as const

/** `multihub refunds`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/support/v1/refund_service_pb.ts')).RefundService,
  verbs: [
    {
      name: 'list',
      about: 'list refunds',
      rpc: 'listRefunds',
      columns: ['refund_id', 'amount', 'status', 'payment_c_id', 'create_time', 'merchant_id', 'reason'],
      next: 'refunds approve ID --reason "...", or reject',
    },
    { name: 'show', about: 'show a refund', rpc: 'getRefund', id: 'refund_id' },
    {
      name: 'approve',
      about:
        'approve a refund, so that the provider pays it back; or without an ID all that the filters select',
      rpc: 'approveRefund',
      id: 'refund_id',
      each: PENDING,
    },
    {
      name: 'reject',
      about: 'reject a refund, or without an ID all that the filters select',
      rpc: 'rejectRefund',
      id: 'refund_id',
      each: PENDING,
    },
    {
      name: 'cancel',
      about: 'cancel a refund that waits for a decision; an approved one goes on',
      rpc: 'cancelRefund',
      id: 'refund_id',
    },
    { name: 'answer', about: 'write a comment to the merchant', rpc: 'answerRefund', id: 'refund_id' },
    {
      name: 'comments',
      about: 'list the comments of a refund',
      rpc: 'listRefundComments',
      id: 'refund_id',
      columns: ['create_time', 'author', 'body'],
    },
  ],
}
