import type { PendingWork } from '#gen/multihub/common/v1/pending_work_pb.ts'
import { type Delivery, DeliveryStatus, DeliveryTrouble } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import type { ExplainPaymentResponse } from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import type { GetPaymentSupportResponse } from '#gen/multihub/support/v1/payment_support_service_pb.ts'
import { TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { dateOf, hostOf, moneyText, type Reference } from './timeline-row.ts'

/** Who brings a step about. */
type WaitsFor = 'system' | 'provider' | 'bank' | 'operator' | 'merchant' | 'customer'

/** Something that will happen, or that somebody must decide. */
export interface PendingStep {
  readonly time?: Date | undefined
  readonly title: string
  readonly waits_for: WaitsFor
  readonly refs: readonly Reference[]
}

/** An approval of a second person that nobody has given. */
export interface PendingApproval {
  readonly approval_id: string
  readonly rpc: string
  readonly expires_at: Date
}

/** What the pending steps are made from. */
export interface PendingSources {
  readonly explanation: ExplainPaymentResponse
  readonly support: GetPaymentSupportResponse | undefined
  readonly deliveries: readonly Delivery[]
  readonly approvals: readonly PendingApproval[]
  readonly is_merchant: boolean
}

/**
 * Everything that follows: what the payment itself waits for, then its refunds, approvals, chargebacks, anomalies, callbacks and
 * ticket. Within each, what has failed for good is first, and the rest in the order of time. Pure.
 */
export function pendingSteps(sources: PendingSources): PendingStep[] {
  const { explanation, support, is_merchant } = sources
  const { work, anomalies, refunds } = explanation
  const refund_ids = new Set(refunds.map(({ refundId }) => refundId))
  const refsOf = ({ subjectId: id }: PendingWork): Reference[] =>
    id === '' ? [] : [{ kind: refund_ids.has(id) ? 'refund' : 'chargeback', id }]
  const stepsOf = (some: readonly PendingWork[]): PendingStep[] =>
    inOrder(some.flatMap((one) => workStep(one, refsOf(one), is_merchant)))
  const isEvent = ({ kind }: PendingWork): boolean => kind === 'publish_event'
  const own = work.filter((one) => one.subjectId === '' && !isEvent(one))
  const of_others = work.filter((one) => one.subjectId !== '' && !isEvent(one))
  const of_support = support?.work ?? []
  return [
    ...stepsOf(own),
    ...refundSteps(explanation),
    ...stepsOf([...of_others, ...of_support.filter((one) => !isEvent(one))]),
    ...(is_merchant ? [] : sources.approvals.map(approvalStep)),
    ...chargebackSteps(support),
    ...(is_merchant ? [] : anomalies.filter(({ resolution }) => resolution === undefined).map(anomalyStep)),
    ...stepsOf([...work, ...of_support].filter(isEvent)),
    ...inOrder(sources.deliveries.flatMap(deliveryStep)),
    ...ticketSteps(support),
  ]
}

/** Steps without a time first: they wait for a person. */
function inOrder(steps: readonly PendingStep[]): PendingStep[] {
  return [...steps].sort((a, b) => (a.time?.getTime() ?? 0) - (b.time?.getTime() ?? 0))
}

/** What each kind of work does, for somebody who has never seen the code. */
const WORK: Readonly<Record<string, string>> = {
  create_at_provider: 'it is sent to the provider',
  repeat_create: 'it is sent to the provider again, under the same key',
  poll_provider: 'the provider is asked for its status',
  look_up_late: 'the provider is asked once more whether it was paid after all',
  find_restored: 'every provider account is asked what it knows since the restore',
  report_open: 'it is reported to the operator unless the provider decides before',
  expire_payment: 'the deposit expires unless the customer has paid',
  hold_funds: 'the ledger is asked to hold the amount',
  post_entry: 'its entry is posted to the ledger',
  publish_event: 'its event is sent to the receivers',
  report_refund: 'support learns of its new status',
  report_chargeback: 'support learns of it',
  return_amount: 'its amount is credited back',
}

/** Bookkeeping that nobody waits for. */
const SILENT: ReadonlySet<string> = new Set(['record_refusal', 'discard_refused', 'store_comment'])

function workStep(
  { kind, detail, dueTime, tries, stuck, failure, workId }: PendingWork,
  refs: readonly Reference[],
  is_merchant: boolean,
): PendingStep[] {
  if (SILENT.has(kind)) return []
  const what = WORK[kind] ?? `the work ${kind} is done`
  const named = detail === '' ? '' : ` (${detail})`
  const next = `${what}${named}`
  if (stuck && !is_merchant)
    return [
      {
        title: `Stuck after ${tries} tries${failure === '' ? '' : ` (${failure})`}: ${what}${named}. RetryEffect of ${workId} tries again`,
        waits_for: 'operator',
        refs,
      },
    ]
  // What waits for other work has no time of its own; that other work is a step.
  if (dueTime === undefined) return []
  const waits_for = kind === 'expire_payment' ? 'customer' : 'system'
  return [{ time: dateOf(dueTime), title: tries > 1 ? `${next}, try ${tries + 1}` : next, waits_for, refs }]
}

function refundSteps({ refunds }: ExplainPaymentResponse): PendingStep[] {
  return refunds
    .filter(({ status, approving }) => status === RefundStatus.PENDING && !approving)
    .map(({ refundId, amount }) => ({
      title: `Refund of ${moneyText(amount)} waits for the operator's decision`,
      waits_for: 'operator',
      refs: [{ kind: 'refund', id: refundId }],
    }))
}

function approvalStep({ approval_id, rpc, expires_at }: PendingApproval): PendingStep {
  return {
    time: expires_at,
    title: `${rpc.slice(rpc.lastIndexOf('.') + 1)} waits for a second person, and expires without a decision`,
    waits_for: 'operator',
    refs: [{ kind: 'approval', id: approval_id }],
  }
}

function chargebackSteps(support: GetPaymentSupportResponse | undefined): PendingStep[] {
  return (support?.chargebacks ?? []).flatMap(
    ({ chargebackId, amount, status, deadlineTime }): PendingStep[] => {
      const is_open = status === ChargebackStatus.OPEN
      if (!is_open && status !== ChargebackStatus.UNDER_REVIEW) return []
      // No method of the merchant adds evidence (S10.5).
      const what = is_open
        ? 'evidence: the merchant sends it in a ticket, the operator adds it'
        : "the bank's decision"
      return [
        {
          time: is_open && deadlineTime !== undefined ? dateOf(deadlineTime) : undefined,
          title: `Chargeback of ${moneyText(amount)} waits for ${what}`,
          waits_for: is_open ? 'merchant' : 'bank',
          refs: [{ kind: 'chargeback', id: chargebackId }],
        },
      ]
    },
  )
}

function anomalyStep({ anomalyId }: { readonly anomalyId: string }): PendingStep {
  return {
    title: "Anomaly waits for the operator's decision",
    waits_for: 'operator',
    refs: [{ kind: 'anomaly', id: anomalyId }],
  }
}

function deliveryStep({
  deliveryId,
  event,
  url,
  status,
  trouble,
  attempts,
  nextAttemptTime,
}: Delivery): PendingStep[] {
  const refs = [{ kind: 'delivery', id: deliveryId }]
  const callback = `callback ${event} to ${hostOf(url)}`
  const tried = attempts.at(-1)?.number ?? 0
  switch (status) {
    case DeliveryStatus.PENDING:
      return [
        {
          time: nextAttemptTime && dateOf(nextAttemptTime),
          title: `try ${tried + 1} of the ${callback}`,
          waits_for: 'system',
          refs,
        },
      ]
    case DeliveryStatus.BLOCKED:
      return [{ title: `The ${callback} waits for the secret of its endpoint`, waits_for: 'operator', refs }]
    case DeliveryStatus.DEAD:
      // The breaker of its destination is open: the delivery goes on by itself when it closes.
      if (trouble === DeliveryTrouble.HELD) {
        const title = `The ${callback} waits until its receiver answers again, and is sent then`
        return [{ title, waits_for: 'system', refs }]
      }
      return [
        {
          title: `The ${callback} has used all its tries: nothing is sent until it is replayed`,
          waits_for: 'operator',
          refs,
        },
      ]
    default:
      return []
  }
}

const RESOLVED: ReadonlySet<TicketStatus> = new Set([
  TicketStatus.RESOLVED,
  TicketStatus.CLOSED,
  TicketStatus.CANCELED,
])

function ticketSteps(support: GetPaymentSupportResponse | undefined): PendingStep[] {
  const { ticket } = support ?? {}
  if (ticket === undefined || RESOLVED.has(ticket.status)) return []
  const is_merchants = ticket.status === TicketStatus.WAITING_CUSTOMER
  return [
    {
      time: ticket.slaDeadlineTime && dateOf(ticket.slaDeadlineTime),
      title: is_merchants ? "Ticket waits for the merchant's answer" : 'Ticket waits for the operator',
      waits_for: is_merchants ? 'merchant' : 'operator',
      refs: [{ kind: 'ticket', id: ticket.ticketId }],
    },
  ]
}
