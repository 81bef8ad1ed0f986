import type { ReactNode } from 'react'
import { type Refund, RefundSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { refund_acts } from '../../forms/refunds.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

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
  acts: refund_acts,
  empty: 'No merchant has asked for a refund.',
}

/** The list of refunds, with the decisions about them. */
export function RefundsPage(): ReactNode {
  return <ListPage spec={refunds} />
}
