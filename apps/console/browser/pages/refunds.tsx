import type { ReactNode } from 'react'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { type Refund, RefundSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { type Act, moneyWords } from '../acts/act.ts'
import { callRpc } from '../call/call-rpc.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

const { approveRefund, rejectRefund, cancelRefund, answerRefund } = RefundService.method

const acts: readonly Act<Refund>[] = [
  {
    name: 'Approve',
    rights: ['money'],
    isOffered: ({ status }) => status === RefundStatus.PENDING,
    effects: ({ amount, merchantId, paymentCId }) => [
      `${moneyWords(amount)} is held from the available balance of merchant ${merchantId}, and the provider is asked to pay it back for payment ${paymentCId}.`,
      'It is refused when the balance is too low. When the provider refuses, the merchant has the money back.',
      'A payment to the customer cannot be undone.',
    ],
    async run({ refundId }, { reason }) {
      await callRpc(approveRefund, { refundId }, { reason })
      return undefined
    },
  },
  {
    name: 'Reject',
    rights: ['money'],
    isOffered: ({ status }) => status === RefundStatus.PENDING,
    effects: ({ amount }) => [
      `The refund of ${moneyWords(amount)} ends permanently. No money moves.`,
      'The merchant gets a callback, and reads your reason.',
    ],
    async run({ refundId }, { reason }) {
      await callRpc(rejectRefund, { refundId, reason }, { reason })
      return undefined
    },
  },
  {
    name: 'Cancel',
    rights: ['money'],
    isOffered: ({ status }) => status === RefundStatus.APPROVED,
    effects: ({ amount }) => [
      `The approved refund of ${moneyWords(amount)} ends, and its money is given back to the merchant.`,
      'It is refused when the provider may already have it.',
    ],
    async run({ refundId }, { reason }) {
      await callRpc(cancelRefund, { refundId, reason }, { reason })
      return undefined
    },
  },
  {
    name: 'Answer',
    rights: ['support'],
    isOffered: () => true,
    effects: () => ['The merchant reads this comment, and gets a callback.'],
    inputs: [{ name: 'body', label: 'Comment', kind: 'lines' }],
    async run({ refundId }, { reason, operation_id, inputs }) {
      await callRpc(
        answerRefund,
        { refundId, body: inputs['body'] ?? '', operationId: operation_id },
        { reason },
      )
      return undefined
    },
  },
]

const refunds: ListSpec<Refund> = {
  path: '/refunds',
  title: 'Refunds',
  question: 'Which refunds merchants asked for, and which wait for a decision, the newest first.',
  desc: RefundSchema,
  list: RefundService.method.listRefunds,
  items: 'refunds',
  id: 'refundId',
  columns: ['refund_id', 'payment_c_id', 'merchant_id', 'amount', 'status', 'reason', 'create_time'],
  filters: {
    status: 'statuses',
    merchant: 'merchant_id',
    env: 'environment',
    payment: 'payment_id',
    created: 'created_from',
    oldest_first: 'oldest_first',
  },
  get: { method: RefundService.method.getRefund, field: 'refund' },
  acts,
  empty: 'No merchant has asked for a refund.',
}

/** The list of refunds, with the decisions about them. */
export function RefundsPage(): ReactNode {
  return <ListPage spec={refunds} />
}
