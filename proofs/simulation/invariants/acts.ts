import { FREE_CURRENCY, HELD_ABOVE, HELD_CURRENCY } from '../workload/colleagues.ts'
import type { History } from '../workload/history.ts'
import { filesOf } from './files.ts'
import { documentsOf, type Evidence, type Invariant } from './judge.ts'
import { entriesOf, isOfOperation, type JournalEntry } from './ledger.ts'

/** One record of the audit trail, as far as the invariants read it. */
interface AuditRecord {
  readonly kind: 'intent' | 'outcome' | 'completion'
  readonly audit_id: string
  /** Of an intent. */
  readonly rpc?: string
  readonly request?: string
  readonly approval_id?: string
  /** Of the others. */
  readonly outcome?: string
}

/** A stored batch of the audit trail. */
export interface AuditBatch {
  readonly seq: bigint
  readonly records: readonly AuditRecord[]
}

/** The fields of a stored approval that the invariants read. */
export interface StoredApproval {
  readonly approval_id: string
  readonly status: string
  readonly rpc: string
  readonly operation_id?: string
  readonly amount?: { readonly minor: bigint; readonly currency: string }
  readonly proposer_id: string
  readonly decider_id?: string
  /** The act that approved it, under which the owner is called. */
  readonly audit_id?: string
  readonly act_ids?: readonly string[]
  readonly error_code?: number
  /** JSON of what it asks for. */
  readonly shown_request: string
  readonly expires_at: Date
  readonly decided_at?: Date
}

/** An act of the audit trail with what is known of it. */
interface AuditedAct {
  readonly intent: AuditRecord
  readonly outcome: string | undefined
}

const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'
const APPROVE_REFUND = 'multihub.support.v1.RefundService/ApproveRefund'
const FINALIZE_EVIDENCE = 'multihub.attachments.v1.AttachmentService/FinalizeEvidence'
const RESOLVE_ANOMALY = 'multihub.payments.v1.PaymentService/ResolveAnomaly'
const APPROVE = 'multihub.backoffice.v1.ApprovalService/Approve'

function batchesOf(databases: Evidence['databases']): readonly AuditBatch[] {
  return documentsOf<AuditBatch>(databases, 'backoffice', 'audit').toSorted((one, other) =>
    Number(one.seq - other.seq),
  )
}

/** The acts of the audit trail. What their own process knew counts before what another one concluded. */
function actsOf(databases: Evidence['databases']): readonly AuditedAct[] {
  const records = batchesOf(databases).flatMap((batch) => batch.records)
  const outcomeOf = (kind: AuditRecord['kind']) =>
    new Map(records.flatMap((one) => (one.kind === kind ? [[one.audit_id, one.outcome] as const] : [])))
  const [reported, concluded] = [outcomeOf('outcome'), outcomeOf('completion')]
  return records.flatMap((intent) => {
    if (intent.kind !== 'intent') return []
    const own = reported.get(intent.audit_id)
    const other = concluded.get(intent.audit_id)
    return [{ intent, outcome: own === undefined || own === 'unknown' ? (other ?? own) : own }]
  })
}

/** The stored approvals. */
export function approvalsOf(databases: Evidence['databases']): readonly StoredApproval[] {
  return documentsOf<StoredApproval>(databases, 'backoffice', 'approvals')
}

/**
 * Whether the back office still has to complete acts, or to execute what was approved. It asks again about an act that it wrote down
 * as unknown; `history` tells which of them an owner has kept.
 */
export function hasOpenActs(databases: Evidence['databases'], history: History | undefined): boolean {
  const isKept = ({ audit_id, rpc }: AuditRecord): boolean =>
    history?.acts.has(audit_id) === true && !history.forgotten_acts.has(audit_id) && rpc !== APPROVE_REFUND
  return (
    actsOf(databases).some(
      ({ intent, outcome }) => outcome === undefined || (outcome === 'unknown' && isKept(intent)),
    ) || approvalsOf(databases).some(({ status }) => status === 'approved')
  )
}

/** Each act has one intent and an outcome after it, in an unbroken row of batches. */
export const auditIsWhole: Invariant = function* ({ databases }) {
  const seen = new Set<string>()
  let expected = 1n
  for (const { seq, records } of batchesOf(databases)) {
    if (seq !== expected) yield `the audit trail has batch ${seq} instead of ${expected}`
    expected = seq + 1n
    for (const { kind, audit_id } of records) {
      const name = `${audit_id} ${kind}`
      if (seen.has(name)) yield `the audit trail has the ${kind} of ${audit_id} twice`
      if (kind !== 'intent' && !seen.has(`${audit_id} intent`))
        yield `the audit trail has the ${kind} of ${audit_id} before its intent`
      seen.add(name)
    }
  }
  for (const { intent, outcome } of actsOf(databases))
    if (outcome === undefined) yield `the act ${intent.audit_id} of ${intent.rpc} has no outcome`
}

/** What owners have kept of acts was done, and a stored proposal was proposed. */
export const keptActsWereDone: Invariant = function* (evidence) {
  const { databases, history } = evidence
  const proposals = new Map(
    approvalsOf(databases).flatMap(({ rpc, act_ids = [] }) => act_ids.map((id) => [id, rpc] as const)),
  )
  for (const { intent, outcome } of actsOf(databases)) {
    const { audit_id, rpc } = intent
    // An owner keeps the last acts of a document only, so another process may not have found it.
    const is_missed = outcome === 'unknown' && history.forgotten_acts.has(audit_id)
    const expected = proposals.get(audit_id) === rpc ? 'pending_approval' : 'done'
    if (!history.acts.has(audit_id) || outcome === expected || is_missed) continue
    if (outcome === 'done' || !isRememberedRefusal(evidence, intent))
      yield `the act ${audit_id} of ${rpc} was ${expected}, and the audit trail says ${outcome}`
  }
}

/**
 * Whether a refusal of an act is all that it changed: the ledger refused a hold of the refund that it approves, or the file that it
 * finalizes is rejected, because its bytes are not those that were announced.
 */
function isRememberedRefusal(evidence: Evidence, { rpc, request = '{}' }: AuditRecord): boolean {
  const { refundId, attachmentId } = JSON.parse(request)
  if (rpc === FINALIZE_EVIDENCE)
    return filesOf(evidence).some(
      ({ attachment_id, status }) => attachment_id === attachmentId && status === 'rejected',
    )
  if (rpc !== APPROVE_REFUND) return false
  return entriesOf(evidence).some(
    ({ id, refused_code }) => refused_code !== undefined && id.startsWith(`${refundId}:hold:`),
  )
}

/** The adjustments that people make through the back office only. */
function adjustmentsOf(evidence: Evidence): readonly JournalEntry[] {
  return entriesOf(evidence).filter(
    ({ kind, currency, refused_code }) =>
      kind === 'adjustment' &&
      refused_code === undefined &&
      [HELD_CURRENCY, FREE_CURRENCY].includes(currency),
  )
}

/** The ids of all acts and approvals, or of those that have ended: the act has an outcome, the approval was executed. */
export function* actIds(databases: Evidence['databases'], which: 'all' | 'ended'): Iterable<string> {
  for (const { intent, outcome } of actsOf(databases))
    if (which === 'all' || outcome !== undefined) yield intent.audit_id
  for (const { approval_id, status } of approvalsOf(databases))
    if (which === 'all' || status === 'executed') yield approval_id
}

/**
 * Whether an owner may lack an act that the back office knows: an ordered backup reads the back office after all owners
 * (docs/operators/backup.md).
 */
function isLate({ kind, history }: Evidence, id: string): boolean {
  return kind === 'ordered' && history.late_acts.has(id)
}

/** Each adjustment has an entry that says so, and each entry that says so has its adjustment. */
export const adjustmentsAreAudited: Invariant = function* (evidence) {
  const { databases } = evidence
  const entries = adjustmentsOf(evidence)
  const approvals = new Map(approvalsOf(databases).map((approval) => [approval.approval_id, approval]))
  const done = actsOf(databases).filter(({ outcome }) => outcome === 'done')
  const operations = new Set<string>()
  for (const { intent } of done) {
    const { rpc, request = '{}', approval_id = '', audit_id } = intent
    const { operationId, currency, refundId } = JSON.parse(request)
    const is_late = isLate(evidence, audit_id)
    if (rpc === ADJUST && [HELD_CURRENCY, FREE_CURRENCY].includes(currency)) {
      operations.add(operationId)
      if (!is_late && !entries.some((entry) => isOfOperation(entry, operationId)))
        yield `the act ${audit_id} says that ${operationId} was done, and the ledger does not have it`
    }
    if (rpc === APPROVE) operations.add(approvals.get(approval_id)?.operation_id ?? '')
    if (rpc === APPROVE_REFUND && !is_late && refundStatus(databases, refundId) === 'pending')
      yield `the act ${audit_id} says that the refund ${refundId} was approved, and it is pending`
  }
  for (const entry of entries)
    if (![...operations].some((operation) => isOfOperation(entry, operation)))
      yield `no act of the audit trail says that the entry ${entry.id} was made`
}

/** What was approved was executed, and nothing else that needs a second person. */
export const approvalsAreExecuted: Invariant = function* (evidence) {
  const entries = adjustmentsOf(evidence)
  for (const approval of approvalsOf(evidence.databases)) {
    const { approval_id, status, rpc, operation_id = '', amount, error_code } = approval
    if (isLate(evidence, approval_id)) continue
    if (status === 'approved') yield `the approval ${approval_id} of ${rpc} was never executed`
    if (status === 'executed' && error_code === 0 && !isCarriedOut(evidence.databases, approval))
      yield `the approval ${approval_id} of ${rpc} says that it was executed, and its owner does not have it`
    if (rpc !== ADJUST) continue
    const made = entries.filter((entry) => isOfOperation(entry, operation_id))
    if (status === 'executed' && error_code === 0 && made.length !== 1)
      yield `the approval ${approval_id} was executed ${made.length} times`
    const needs_second = amount?.currency === HELD_CURRENCY && amount.minor > HELD_ABOVE
    if (status !== 'executed' && status !== 'approved' && needs_second && made.length > 0)
      yield `the approval ${approval_id} is ${status}, and ${operation_id} was done`
  }
}

/** Whether the owner has what an approved decision about a refund or an anomaly changes. The ledger is judged by itself. */
function isCarriedOut(databases: Evidence['databases'], { rpc, shown_request }: StoredApproval): boolean {
  const { refundId, anomalyId } = JSON.parse(shown_request)
  if (rpc === APPROVE_REFUND) return refundStatus(databases, refundId) !== 'pending'
  if (rpc !== RESOLVE_ANOMALY) return true
  const anomalies = documentsOf<{ readonly anomaly_id: string; readonly resolution?: object }>(
    databases,
    'payments',
    'anomalies',
  )
  return anomalies.find(({ anomaly_id }) => anomaly_id === anomalyId)?.resolution !== undefined
}

function refundStatus(databases: Evidence['databases'], refund_id: string): string | undefined {
  return documentsOf<{ readonly refund_id: string; readonly status: string }>(
    databases,
    'support',
    'refunds',
  ).find((refund) => refund.refund_id === refund_id)?.status
}
