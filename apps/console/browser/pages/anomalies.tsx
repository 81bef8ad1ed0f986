import type { ReactNode } from 'react'
import { type Anomaly, AnomalySchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { anomaly_acts } from '../../forms/anomalies.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

const anomalies: ListSpec<Anomaly> = {
  path: '/anomalies',
  title: 'Anomalies',
  question: 'What providers reported that the system must not decide on. open:yes shows what waits for you.',
  desc: AnomalySchema,
  list: PaymentService.method.listAnomalies,
  items: 'anomalies',
  id: 'anomalyId',
  columns: ['anomaly_id', 'kind', 'description', 'payment_id', 'merchant_id', 'create_time'],
  filters: {
    open: 'open_only',
    kind: 'kind',
    merchant: 'merchant_id',
    payment: 'payment_id',
    account: 'account_id',
  },
  get: { method: PaymentService.method.getAnomaly, field: 'anomaly' },
  acts: anomaly_acts,
  empty: 'No provider has contradicted itself.',
}

/** The list of anomalies, with the decisions about them. */
export function AnomaliesPage(): ReactNode {
  return <ListPage spec={anomalies} />
}
