import type { ReactNode } from 'react'
import { PaymentSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

const payments: ListSpec = {
  path: '/payments',
  title: 'Payments',
  question: 'Which payments were made, and how they stand, the newest first.',
  desc: PaymentSchema,
  list: PaymentService.method.listPayments,
  items: 'payments',
  id: 'paymentId',
  folder: 'payments',
  columns: ['c_id', 'direction', 'amount', 'status', 'merchant_id', 'service_id', 'method', 'create_time'],
  filters: {
    status: 'statuses',
    merchant: 'merchant_id',
    env: 'environment',
    route: 'service_id',
    account: 'account_id',
    created: 'created_from',
  },
  empty: 'No payments yet. The overview says how to make the first one.',
}

/** The list of payments. */
export function PaymentsPage(): ReactNode {
  return <ListPage spec={payments} />
}
