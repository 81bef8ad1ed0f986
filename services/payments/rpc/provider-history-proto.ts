import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ProviderAttemptSchema, ProviderReportSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { CreateRecord, ReportRecord } from '../domain/call-result.ts'
import type { Payment } from '../domain/payment.ts'

/**
 * What providers were sent about a payment and what they said, as the operator and internal teams see it (O7); `as_merchant`
 * without the provider accounts and what is about them.
 */
export function providerHistoryToProto(
  { creates = [], reports = [] }: Payment,
  as_merchant = false,
): {
  attempts: MessageInitShape<typeof ProviderAttemptSchema>[]
  reports: MessageInitShape<typeof ProviderReportSchema>[]
} {
  return {
    attempts: creates.map((record) => attemptToProto(record, as_merchant)),
    reports: reports.map(reportToProto),
  }
}

function attemptToProto(
  record: CreateRecord,
  as_merchant: boolean,
): MessageInitShape<typeof ProviderAttemptSchema> {
  return {
    ...heardToProto(record),
    durationMs: record.duration_ms,
    createTime: timestampFromDate(record.began_at),
    ...(as_merchant
      ? {}
      : { accountId: record.account_id, httpStatus: record.http_status, reason: record.reason }),
  }
}

function reportToProto(record: ReportRecord): MessageInitShape<typeof ProviderReportSchema> {
  return {
    ...heardToProto(record),
    isCallback: record.is_callback,
    createTime: timestampFromDate(record.at),
  }
}

function heardToProto({
  attempt_number,
  refund_id,
  outcome,
  provider_id,
  code,
}: CreateRecord | ReportRecord) {
  return {
    number: attempt_number ?? 0,
    refundId: refund_id,
    outcome,
    providerId: provider_id,
    errorCode: code,
  }
}
