import type { LedgerEntry } from '#gen/multihub/balances/v1/balance_pb.ts'
import type { Delivery } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import type { ExplainPaymentResponse } from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { GetPaymentSupportResponse } from '#gen/multihub/support/v1/payment_support_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type Act, actRows } from '../domain/act-rows.ts'
import { callbackRows } from '../domain/callback-rows.ts'
import { ledgerRows } from '../domain/ledger-rows.ts'
import { paymentRows } from '../domain/payment-rows.ts'
import { type PendingApproval, type PendingStep, pendingSteps } from '../domain/pending-steps.ts'
import { supportRows } from '../domain/support-rows.ts'
import { mergeRows, type TimelineRow } from '../domain/timeline-row.ts'
import {
  type Gaps,
  PART_TIMEOUT_MS,
  type Part,
  readActs,
  readDeliveries,
  readLedger,
  readPart,
  readPendingApprovals,
  readSupport,
  resourcesOf,
  type TimelineSources,
} from './read-sources.ts'

/** Who asks for the timeline of a payment. */
export interface TimelineQuery {
  readonly payment_id: string
  readonly reveal: boolean
  /** The principal, when it sees what the merchant may see: of the acts its own. */
  readonly merchant_principal_id?: string | undefined
}

/** Everything that is known of a payment. */
interface Timeline {
  readonly payment: Payment
  readonly rows: readonly TimelineRow[]
  readonly pending: readonly PendingStep[]
  readonly unavailable: readonly string[]
  readonly incomplete_kinds: readonly string[]
}

/** What the other sources than payments have. */
interface RestOfTimeline {
  readonly support: GetPaymentSupportResponse | undefined
  readonly entries: readonly LedgerEntry[]
  readonly deliveries: readonly Delivery[]
  readonly acts: readonly Act[]
  readonly approvals: readonly PendingApproval[]
}

/** The creates and reports that a payment keeps (O7): with so many, there may have been more. */
const ATTEMPTS_MAX = 16
const REPORTS_MAX = 32

/**
 * Reads the timeline of a payment (O7). The payment is read again after everything that follows from it, so that no row is
 * without its cause. An owner that does not answer is named in `unavailable`, except payments: without the payment there is
 * nothing to show.
 */
export async function getTimeline(sources: TimelineSources, query: TimelineQuery): Promise<Timeline> {
  const { reveal, merchant_principal_id } = query
  const viewer = { reveal, is_merchant: merchant_principal_id !== undefined }
  const gaps: Gaps = { unavailable: new Set(), incomplete: new Set() }
  const first = await explain(sources, query.payment_id, false)
  const parts = await readParts(sources, first, gaps, merchant_principal_id)
  const explanation = await explain(sources, first.payment.paymentId, reveal)
  const { payment, attempts, reports } = explanation
  if (attempts.length >= ATTEMPTS_MAX) gaps.incomplete.add('attempt')
  if (reports.length >= REPORTS_MAX) gaps.incomplete.add('provider_report')
  const { support, entries, deliveries, acts, approvals } = parts
  const rows = mergeRows([
    ...paymentRows(explanation, support?.refunds ?? [], viewer),
    ...(support ? supportRows(support, viewer) : []),
    ...ledgerRows(entries),
    ...callbackRows(explanation.events, deliveries),
    ...actRows(acts, payment.paymentId),
  ])
  const { is_merchant } = viewer
  return {
    payment,
    rows,
    pending: pendingSteps({ explanation, support, deliveries, approvals, is_merchant }),
    unavailable: [...gaps.unavailable].sort(),
    incomplete_kinds: [...gaps.incomplete].sort(),
  }
}

async function explain(
  { payments }: TimelineSources,
  paymentId: string,
  reveal: boolean,
): Promise<ExplainPaymentResponse & { payment: Payment }> {
  const call = payments.explainPayment({ paymentId, reveal }, { timeoutMs: PART_TIMEOUT_MS })
  const explanation = await call.catch((cause: unknown) => {
    if (!(cause instanceof PublicError) || cause.code !== 2002) throw cause
    throw new PublicError(2002, { cause, details: { description: 'payments' } })
  })
  const { payment } = explanation
  if (payment === undefined) throw new Unavailable('payments answered without the payment')
  return { ...explanation, payment }
}

async function readParts(
  sources: TimelineSources,
  explanation: ExplainPaymentResponse & { payment: Payment },
  gaps: Gaps,
  principal_id: string | undefined,
): Promise<RestOfTimeline> {
  const { payment } = explanation
  const complete = <T>(kinds: readonly string[], { items, has_more }: Part<T>): readonly T[] => {
    if (has_more) for (const kind of kinds) gaps.incomplete.add(kind)
    return items
  }
  const none = { items: [], has_more: false }
  const readEntries = () => readLedger(sources, payment, principal_id !== undefined)
  const [support, ledger] = await Promise.all([
    readPart(gaps, 'support', () => readSupport(sources, payment), undefined),
    readPart<Part<LedgerEntry>>(gaps, 'balances', readEntries, none),
  ])
  if (support?.moreComments) gaps.incomplete.add('ticket')
  const resources = complete(['delivery', 'event', 'operator_act'], resourcesOf(explanation, support))
  const read = () => readDeliveries(sources, payment, resources)
  const delivered = await readPart<Part<Delivery>>(gaps, 'notifier', read, none)
  const deliveries = complete(['delivery'], delivered)
  const targets = [...resources, ...deliveries.map(({ deliveryId: id }) => ({ kind: 'delivery', id }))]
  const acts = complete(
    ['operator_act'],
    await readPart<Part<Act>>(gaps, 'backoffice', () => readActs(sources, targets, principal_id), none),
  )
  const approvals = await readPart(gaps, 'backoffice', () => readPendingApprovals(sources, acts, now()), [])
  return { support, entries: complete(['ledger_entry'], ledger), deliveries, acts, approvals }
}
