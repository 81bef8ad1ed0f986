import type {
  ExplainPaymentResponse,
  RefundProgress,
} from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import {
  type Anomaly,
  AnomalyResolutionKind,
  OperationType,
  type Payment,
  type ProviderAttempt,
  type ProviderReport,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import type { Refund } from '#gen/multihub/support/v1/refund_pb.ts'
import { PAYMENT_STATUSES, type PaymentStatus } from '#lib/contract/payment-status.ts'
import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import {
  codeText,
  dateOf,
  joined,
  moneyData,
  moneyText,
  ORDER,
  type Reference,
  type RowData,
  type TimelineRow,
  type Viewer,
} from './timeline-row.ts'

/**
 * The rows of what the payments service knows: statuses, attempts, reports, refunds and anomalies. `texts` are the refunds with
 * the reasons that support has. Pure.
 */
export function paymentRows(
  explanation: ExplainPaymentResponse,
  texts: readonly Refund[],
  viewer: Viewer,
): TimelineRow[] {
  const { payment, attempts, reports, refunds, anomalies } = explanation
  return [
    ...(payment ? statusRows(payment) : []),
    ...attempts.map((attempt, index) => attemptRow(attempt, index, viewer)),
    ...reports.map((report, index) => reportRow(report, index, viewer)),
    ...refunds.flatMap((refund) =>
      refundRows(
        refund,
        reasonsOf(
          texts.find(({ refundId }) => refundId === refund.refundId),
          viewer,
        ),
      ),
    ),
    // Their descriptions name provider accounts, and the decision is the operator's.
    ...(viewer.is_merchant ? [] : anomalies.flatMap((anomaly) => anomalyRows(anomaly, viewer))),
  ]
}

const STATUS_TITLES: Readonly<Record<PaymentStatus, string>> = {
  created: 'Payment created',
  processing: 'Payment is processing: the provider has not decided yet',
  success: 'Payment succeeded',
  error: 'Payment failed',
  canceled: 'Payment was canceled',
  declined: 'Payment ended unpaid',
  refunded: 'Payment is refunded in full',
  partially_refunded: 'Payment is refunded in part',
}

function statusRows(payment: Payment): TimelineRow[] {
  const what = payment.operations[0]?.type === OperationType.DEPOSIT ? 'deposit' : 'payout'
  return payment.history.map((entry, index): TimelineRow => {
    const status = PAYMENT_STATUSES.fromProto(entry.status)
    const is_first = index === 0
    const is_refund = status === 'refunded' || status === 'partially_refunded'
    const detail = joined([
      is_first && `${what} of ${moneyText(entry.amount)} by ${payment.method}`,
      is_refund && `${moneyText(entry.amount)} went back`,
      entry.reason?.toLowerCase(),
    ])
    const title = status === undefined ? 'Payment has a new status' : STATUS_TITLES[status]
    return {
      key: `status:${index}`,
      time: dateOf(entry.createTime),
      kind: 'status',
      order: is_first ? ORDER.request : ORDER.status,
      title: joined([title, detail], ': '),
      refs: [],
      data: { status, ...moneyData(entry.amount), reason: entry.reason },
    }
  })
}

const OUTCOMES: Readonly<Record<string, string>> = {
  success: 'paid',
  pending: 'accepted, not decided yet',
  declined: 'declined',
  canceled: 'canceled',
  not_sent: 'not sent',
  unknown: 'no clear answer, so it may have arrived',
}

const outcomeText = (outcome: string): string => OUTCOMES[outcome] ?? outcome

const refundReference = (refund_id: string | undefined): Reference[] =>
  refund_id === undefined ? [] : [{ kind: 'refund', id: refund_id }]

function attemptRow(attempt: ProviderAttempt, index: number, { is_merchant }: Viewer): TimelineRow {
  const { number, refundId, accountId, outcome, providerId, httpStatus, durationMs, errorCode, reason } =
    attempt
  const what = refundId === undefined ? `Attempt ${number} at` : 'Refund sent to'
  const where = is_merchant ? 'the provider' : accountId
  const facts = joined([
    errorCode !== undefined && codeText(errorCode),
    !is_merchant && reason,
    !is_merchant && httpStatus !== undefined && `HTTP ${httpStatus}`,
  ])
  return {
    // Of equal ones at the same time, each is a call of its own.
    key: `attempt:${refundId ?? number}:${dateOf(attempt.createTime).getTime()}:${index}`,
    time: dateOf(attempt.createTime),
    kind: 'attempt',
    order: ORDER.attempt,
    title: `${what} ${where}: ${outcomeText(outcome)}${facts === '' ? '' : ` (${facts})`}, after ${durationMs} ms`,
    refs: [
      ...refundReference(refundId),
      ...(is_merchant ? [] : [{ kind: 'provider_account', id: accountId }]),
    ],
    data: {
      ...(refundId === undefined ? { number } : {}),
      outcome,
      duration_ms: durationMs,
      provider_id: providerId,
      error_code: errorCode,
      ...(is_merchant ? {} : { account_id: accountId, http_status: httpStatus, reason }),
    },
  }
}

function reportRow(report: ProviderReport, index: number, { is_merchant }: Viewer): TimelineRow {
  const { number, refundId, outcome, providerId, errorCode, isCallback } = report
  const what = refundId === undefined ? `attempt ${number}` : 'the refund'
  const how = isCallback ? 'called back' : 'answered a look-up'
  const facts = errorCode === undefined ? '' : ` (${codeText(errorCode)})`
  return {
    key: `report:${refundId ?? number}:${dateOf(report.createTime).getTime()}:${index}`,
    time: dateOf(report.createTime),
    kind: 'provider_report',
    order: ORDER.report,
    title: `Provider ${how} about ${what}: ${outcomeText(outcome)}${facts}`,
    refs: refundReference(refundId),
    data: {
      ...(refundId === undefined ? { number } : {}),
      outcome,
      provider_id: providerId,
      error_code: errorCode,
      ...(is_merchant ? {} : { is_callback: isCallback }),
    },
  }
}

/** Why the merchant requested a refund, and why the operator ended it, as far as the viewer may read it. */
function reasonsOf(refund: Refund | undefined, { reveal, is_merchant }: Viewer) {
  const { reason = '', operatorReason = '' } = (reveal ? refund : undefined) ?? {}
  return {
    requested: reason === '' ? undefined : reason,
    ended: is_merchant || operatorReason === '' ? undefined : operatorReason,
  }
}

function refundRows(refund: RefundProgress, reasons: ReturnType<typeof reasonsOf>): TimelineRow[] {
  const { refundId, amount, createTime, approveTime, endTime, errorCode } = refund
  const status = REFUND_STATUSES.fromProto(refund.status)
  const name = `Refund of ${moneyText(amount)}`
  const row = (step: string, time: Date, order: number, title: string, data: RowData = {}): TimelineRow => ({
    key: `refund:${refundId}:${step}`,
    time,
    kind: 'refund',
    order,
    title: `${name} ${title}`,
    refs: refundReference(refundId),
    data: { refund_id: refundId, ...moneyData(amount), step, ...data },
  })
  const { requested: reason } = reasons
  const rows = [row('requested', dateOf(createTime), ORDER.request, 'was requested', { reason })]
  if (approveTime !== undefined)
    rows.push(row('approved', dateOf(approveTime), ORDER.request, 'was approved: its funds are held'))
  if (endTime !== undefined && status !== undefined) {
    const ends: Readonly<Record<string, string>> = {
      completed: 'was completed: the customer has the money back',
      failed: 'failed: the merchant has its funds back',
      rejected: 'was rejected by the operator',
      canceled: 'was canceled by the operator',
    }
    const why = errorCode === undefined ? '' : `, because of: ${codeText(errorCode)}`
    const title = `${ends[status] ?? `is ${status}`}${why}`
    rows.push(
      row(status, dateOf(endTime), ORDER.result, title, { error_code: errorCode, reason: reasons.ended }),
    )
  }
  return rows
}

const RESOLUTIONS: Readonly<Partial<Record<AnomalyResolutionKind, string>>> = {
  [AnomalyResolutionKind.DISMISSED]: 'dismissed by the operator',
  [AnomalyResolutionKind.PAID]: 'resolved by the operator: it was paid',
  [AnomalyResolutionKind.NOT_PAID]: 'resolved by the operator: it was not paid',
  [AnomalyResolutionKind.DECIDED_BY_PROVIDER]: 'resolved: the provider has decided',
}

function anomalyRows(anomaly: Anomaly, { reveal }: Viewer): TimelineRow[] {
  const { anomalyId, refundId, description, createTime, resolution } = anomaly
  const refs = [{ kind: 'anomaly', id: anomalyId }, ...refundReference(refundId)]
  const common = { kind: 'anomaly', order: ORDER.anomaly, refs } as const
  const noticed = {
    ...common,
    key: `anomaly:${anomalyId}`,
    time: dateOf(createTime),
    title: `Anomaly: ${description}`,
    data: { anomaly_id: anomalyId, refund_id: refundId, attempt_number: anomaly.attemptNumber },
  }
  if (resolution === undefined) return [noticed]
  const decision = RESOLUTIONS[resolution.kind] ?? 'resolved'
  const resolved = {
    ...common,
    key: `anomaly:${anomalyId}:resolved`,
    time: dateOf(resolution.resolveTime),
    title: `Anomaly ${decision}`,
    data: {
      anomaly_id: anomalyId,
      operation_id: resolution.operationId,
      note: reveal ? resolution.note : undefined,
    },
  }
  return [noticed, resolved]
}
