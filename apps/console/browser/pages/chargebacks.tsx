import type { ReactNode } from 'react'
import { type Chargeback, ChargebackSchema } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { chargeback_acts } from '../../forms/chargebacks.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'
import { PaymentSummary } from './payment-summary.tsx'

const chargebacks: ListSpec<Chargeback> = {
  path: '/chargebacks',
  title: 'Chargebacks',
  question:
    'Which payments customers dispute, and until when evidence must arrive. due:yes sorts by the deadline.',
  desc: ChargebackSchema,
  list: ChargebackService.method.listChargebacks,
  items: 'chargebacks',
  id: 'chargebackId',
  columns: [
    'chargeback_id',
    'payment_c_id',
    'merchant_id',
    'amount',
    'status',
    'deadline_time',
    'reason_code',
  ],
  filters: {
    status: 'statuses',
    merchant: 'merchant_id',
    env: 'environment',
    payment: 'payment_id',
    created: 'created_from',
    due: 'by_deadline',
  },
  get: { method: ChargebackService.method.getChargeback, field: 'chargeback' },
  acts: chargeback_acts,
  more: ({ paymentId }) => <PaymentSummary payment_id={paymentId} />,
  empty: 'No payment was charged back. Open a chargeback on the page of its payment.',
}

/** The list of chargebacks, with the decisions about them. */
export function ChargebacksPage(): ReactNode {
  return <ListPage spec={chargebacks} />
}
