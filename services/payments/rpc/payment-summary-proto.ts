import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type {
  PaymentCountSchema,
  PaymentSlotSchema,
  SummarizePaymentsResponseSchema,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { PAYMENT_STATUSES } from '#lib/contract/payment-status.ts'
import type { PaymentCount, PaymentSlot } from '../domain/payment-counts.ts'
import type { PaymentsSummary } from '../use-cases/summarize-payments.ts'

/** Maps the summary for a response. */
export function summaryToProto(
  summary: PaymentsSummary,
): MessageInitShape<typeof SummarizePaymentsResponseSchema> {
  return {
    openAnomalies: summary.open_anomalies,
    stuckEffects: summary.stuck_effects,
    openBreakers: summary.open_breakers,
    unconfiguredPayments: summary.unconfigured_payments,
    paymentsLastHour: summary.last_hour.map(countToProto),
    paymentsLastDay: summary.last_day.map(countToProto),
    slotsLastHour: summary.slots_last_hour.map(slotToProto),
    slotsLastDay: summary.slots_last_day.map(slotToProto),
    computedTime: timestampFromDate(summary.computed_at),
  }
}

function countToProto({
  service_id,
  status,
  count,
}: PaymentCount): MessageInitShape<typeof PaymentCountSchema> {
  return { serviceId: service_id, status: PAYMENT_STATUSES.toProto(status), count: BigInt(count) }
}

function slotToProto({
  start,
  created,
  ended,
  succeeded,
}: PaymentSlot): MessageInitShape<typeof PaymentSlotSchema> {
  return {
    startTime: timestampFromDate(start),
    created: BigInt(created),
    ended: BigInt(ended),
    succeeded: BigInt(succeeded),
  }
}
