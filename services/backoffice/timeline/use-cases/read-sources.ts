import type { Client } from '@connectrpc/connect'
import type { LedgerEntry } from '#gen/multihub/balances/v1/balance_pb.ts'
import type { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import type { Delivery } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import type { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import type {
  ExplainPaymentResponse,
  PaymentExplanationService,
} from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import type { Payment } from '#gen/multihub/payments/v1/payment_pb.ts'
import type {
  GetPaymentSupportResponse,
  PaymentSupportService,
} from '#gen/multihub/support/v1/payment_support_service_pb.ts'
import { log } from '#lib/telemetry/log.ts'
import { statusAt } from '../../approvals/domain/approval.ts'
import type { Approvals } from '../../approvals/store/approvals.ts'
import type { Audit } from '../../audit/audit.ts'
import type { Act } from '../domain/act-rows.ts'
import type { PendingApproval } from '../domain/pending-steps.ts'
import type { Reference } from '../domain/timeline-row.ts'

/** The owners and stores that a timeline is read from. */
export interface TimelineSources {
  readonly payments: Client<typeof PaymentExplanationService>
  readonly balances: Client<typeof BalanceService>
  readonly notifier: Client<typeof DeliveryService>
  readonly support: Client<typeof PaymentSupportService>
  readonly audit: Pick<Audit, 'list'>
  readonly approvals: Pick<Approvals, 'get'>
}

/** How long each owner may take, so that one that hangs does not take the whole time of the caller. */
export const PART_TIMEOUT_MS = 5_000
const CALL = { timeoutMs: PART_TIMEOUT_MS }
/** The most entries of the ledger that are read, the newest first. A payment with 100 refunds has some 300. */
const LEDGER_PAGES_MAX = 5
const PAGE_SIZE = 100
/** The most resources whose deliveries and acts are read, the newest of each kind, and the acts of each. */
const RESOURCES_MAX = 64
const ACTS_MAX = 50
/** Reads of one source that are under way at once. */
const READS_AT_ONCE = 8

/** What was read of a source, and whether it has more. */
export interface Part<T> {
  readonly items: readonly T[]
  readonly has_more: boolean
}

/** Which parts of a timeline were not read, or only in part. */
export interface Gaps {
  readonly unavailable: Set<string>
  readonly incomplete: Set<string>
}

/** A part of a timeline, or `rest` when its owner does not answer: the timeline is shown with a mark (O7). */
export async function readPart<T>(gaps: Gaps, role: string, read: () => Promise<T>, rest: T): Promise<T> {
  try {
    return await read()
  } catch (error) {
    log.warn({ error, role }, 'a part of a timeline could not be read')
    gaps.unavailable.add(role)
    return rest
  }
}

/** Reads the refunds, chargebacks, ticket and comments of a payment. */
export async function readSupport(
  { support }: TimelineSources,
  { merchantId, environment, hId: paymentHId }: Payment,
): Promise<GetPaymentSupportResponse> {
  return support.getPaymentSupport({ merchantId, environment, paymentHId }, CALL)
}

/** Reads the ledger entries of a payment, `as_merchant` without the operator's reasons. */
export async function readLedger(
  { balances }: TimelineSources,
  { merchantId, environment, paymentId }: Payment,
  as_merchant: boolean,
): Promise<Part<LedgerEntry>> {
  const items: LedgerEntry[] = []
  let pageToken = ''
  for (let pages = 0; pages < LEDGER_PAGES_MAX; pages += 1) {
    const order = { pageSize: PAGE_SIZE, pageToken, newestFirst: true }
    const request = { merchantId, environment, paymentId, asMerchant: as_merchant, ...order }
    const page = await balances.listEntries(request, CALL)
    items.push(...page.entries)
    pageToken = page.nextPageToken
    if (pageToken === '') break
  }
  return { items, has_more: pageToken !== '' }
}

/** The resources whose callbacks and acts belong to a payment. */
export function resourcesOf(
  { payment, refunds, anomalies }: ExplainPaymentResponse,
  support: GetPaymentSupportResponse | undefined,
): Part<Reference> {
  const { paymentId = '', hId = '' } = payment ?? {}
  const of_payment = Array.from(new Set([paymentId, hId]), (id) => ({ kind: 'payment', id }))
  const others = [
    ...(support?.ticket ? [{ kind: 'ticket', id: support.ticket.ticketId }] : []),
    ...(support?.chargebacks ?? []).map(({ chargebackId: id }) => ({ kind: 'chargeback', id })),
    ...anomalies.map(({ anomalyId: id }) => ({ kind: 'anomaly', id })),
    // The newest are at the end.
    ...refunds.toReversed().map(({ refundId: id }) => ({ kind: 'refund', id })),
  ]
  return {
    items: [...of_payment, ...others.slice(0, RESOURCES_MAX)],
    has_more: others.length > RESOURCES_MAX,
  }
}

/** Reads the deliveries of the callbacks about resources, with their tries. */
export async function readDeliveries(
  { notifier }: TimelineSources,
  { merchantId }: Payment,
  resources: readonly Reference[],
): Promise<Part<Delivery>> {
  const ids = resources.filter(({ kind }) => kind !== 'anomaly').map(({ id }) => id)
  const pages = await inGroups(ids, (paymentId) =>
    notifier.listDeliveries({ merchantId, paymentId, pageSize: PAGE_SIZE }, CALL),
  )
  const items = pages.flatMap(({ deliveries }) => deliveries)
  const hasEarlier = ({ attempts: [first] }: Delivery): boolean => (first?.number ?? 1) > 1
  return {
    items,
    has_more: pages.some(({ nextPageToken }) => nextPageToken !== '') || items.some(hasEarlier),
  }
}

/**
 * Reads the acts about resources, and the decisions of second persons about them. With `principal_id` the acts of this
 * principal only.
 */
export async function readActs(
  { audit }: TimelineSources,
  targets: readonly Reference[],
  principal_id: string | undefined,
): Promise<Part<Act>> {
  const read = (some: readonly Reference[]) =>
    inGroups(some, ({ kind: target_kind, id: target_id }) =>
      audit.list({ principal_id, target_kind, target_id, page_size: ACTS_MAX, page_token: '' }),
    )
  const direct = await read(targets)
  const proposed = new Set(
    direct.flatMap(({ entries }) => entries.flatMap(({ approval_id }) => approval_id ?? [])),
  )
  const approvals = Array.from(proposed, (id) => ({ kind: 'approval', id })).slice(0, RESOURCES_MAX)
  const pages = [...direct, ...(await read(approvals))]
  return {
    items: pages.flatMap(({ entries }) => entries),
    has_more: pages.some(({ next_page_token }) => next_page_token !== ''),
  }
}

/** The approvals that acts wait for. */
export async function readPendingApprovals(
  { approvals }: TimelineSources,
  acts: readonly Act[],
  at: Date,
): Promise<PendingApproval[]> {
  const waiting = new Set(
    acts.flatMap(({ outcome, approval_id }) => (outcome === 'pending_approval' ? (approval_id ?? []) : [])),
  )
  const found = await inGroups([...waiting].slice(0, RESOURCES_MAX), (id) => approvals.get(id))
  return found
    .filter((approval) => approval !== undefined)
    .filter((approval) => statusAt(approval, at) === 'pending')
}

async function inGroups<T, R>(items: readonly T[], read: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let from = 0; from < items.length; from += READS_AT_ONCE)
    results.push(...(await Promise.all(items.slice(from, from + READS_AT_ONCE).map(read))))
  return results
}
