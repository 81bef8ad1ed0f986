import type { ReactNode } from 'react'
import { type Anomaly, AnomalyResolutionKind, AnomalySchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type { Act } from '../acts/act.ts'
import { callRpc } from '../call/call-rpc.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

/** A decision about an anomaly. For PAID the amount is the one of the payment or refund, which the server checks. */
function resolve(
  name: string,
  resolution: AnomalyResolutionKind,
  right: string,
  effects: readonly string[],
): Act<Anomaly> {
  return {
    name,
    rights: [right],
    isOffered: (anomaly) => anomaly.resolution === undefined,
    effects: ({ description }) => [description, ...effects],
    async run({ anomalyId, paymentId, refundId }, { reason, operation_id }) {
      const request = { anomalyId, resolution, operationId: operation_id, note: reason }
      const is_paid = resolution === AnomalyResolutionKind.PAID
      const amount = is_paid ? await amountOf(paymentId, refundId) : undefined
      await callRpc(
        PaymentService.method.resolveAnomaly,
        { ...request, ...(amount && { amount }) },
        { reason },
      )
      return undefined
    },
  }
}

async function amountOf(paymentId: string, refundId: string | undefined) {
  const { payment } = await callRpc(PaymentService.method.getPayment, { paymentId })
  const operation = payment?.operations.find(({ operationId }) => operationId === refundId)
  return refundId === undefined ? payment?.amount : operation?.amount
}

const acts: readonly Act<Anomaly>[] = [
  resolve('Dismiss', AnomalyResolutionKind.DISMISSED, 'support', ['Nothing is left to do. No money moves.']),
  resolve('It was paid', AnomalyResolutionKind.PAID, 'money', [
    'The open payment or refund ends as a success with its own amount, and the ledger books it. It is final.',
    'Look at the account of the provider first.',
  ]),
  resolve('It was not paid', AnomalyResolutionKind.NOT_PAID, 'money', [
    'The open payment or refund ends as an error, and held money is given back. It is final.',
    'Look at the account of the provider first.',
  ]),
]

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
  acts,
  empty: 'No provider has contradicted itself.',
}

/** The list of anomalies, with the decisions about them. */
export function AnomaliesPage(): ReactNode {
  return <ListPage spec={anomalies} />
}
