import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type {
  PaymentEventSchema,
  RefundProgressSchema,
} from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import { PaymentExplanationService } from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import { pendingWorkToProto } from '#lib/patterns/effects/pending-work.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Anomaly } from '../domain/anomaly.ts'
import type { Payment, Refund } from '../domain/payment.ts'
import { EVENT_OF, eventKeyOf, eventKeyOfRefund } from '../domain/payment-event.ts'
import { findAnomaliesOf } from '../store/anomalies.ts'
import type { AdmissionDeps } from '../use-cases/await-change.ts'
import { getPayment } from '../use-cases/find-payment.ts'
import { anomalyToProto } from './anomaly-proto.ts'
import { shownToPerson } from './payment-service.ts'
import { providerHistoryToProto } from './provider-history-proto.ts'

/** Serves what the timeline of the back office is made from (O7). */
export function createPaymentExplanationRpc(
  deps: AdmissionDeps & { readonly anomalies: Pick<Collection<Anomaly>, 'find'> },
): RpcService {
  return rpcService(PaymentExplanationService, {
    explainPayment: by(['backoffice'], async ({ paymentId, reveal }) => {
      const payment = await getPayment(deps, requiredId(paymentId, 'payment_id'))
      // Read after the payment, so that each anomaly that it has is found unless its effect waits.
      const anomalies = await findAnomaliesOf(deps.anomalies, payment)
      return {
        payment: shownToPerson(payment, { reveal }),
        ...providerHistoryToProto(payment),
        events: eventsOf(payment),
        refunds: (payment.refunds ?? []).map((refund) => refundToProto(payment, refund)),
        work: pendingWorkToProto(payment),
        anomalies: anomalies.map(anomalyToProto),
      }
    }),
  })
}

/** The events that have followed from the statuses of a payment (P10), under the keys that their deliveries have. */
function eventsOf(payment: Payment): MessageInitShape<typeof PaymentEventSchema>[] {
  const completed = (payment.refunds ?? []).filter(({ state }) => state === 'completed')
  const waiting = new Set(
    payment.effects.filter(publishEventEffect.matches).map(({ data }) => data['event_key']),
  )
  return payment.history.flatMap(({ status, at }) => {
    const event = EVENT_OF[status]
    if (event === undefined) return []
    const is_refund = status === 'refunded' || status === 'partially_refunded'
    const refund = is_refund
      ? completed.find(({ ended_at }) => ended_at?.getTime() === at.getTime())
      : undefined
    const eventKey = refund ? eventKeyOfRefund(refund.refund_id) : eventKeyOf(payment, status)
    return { eventKey, event, createTime: timestampFromDate(at), published: !waiting.has(eventKey) }
  })
}

function refundToProto(
  { currency }: Payment,
  { refund_id, amount, state, created_at, approved_at, ended_at, error_code, hold_refusal }: Refund,
): MessageInitShape<typeof RefundProgressSchema> {
  return {
    refundId: refund_id,
    amount: { minor: amount, currency },
    status: REFUND_STATUSES.toProto(state === 'approving' ? 'pending' : state),
    createTime: timestampFromDate(created_at),
    approveTime: approved_at && timestampFromDate(approved_at),
    endTime: ended_at && timestampFromDate(ended_at),
    errorCode: error_code,
    holdRefusalCode: hold_refusal,
    approving: state === 'approving',
  }
}
