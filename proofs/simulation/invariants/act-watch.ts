import type { Change } from '../parts/store/memory-collection.ts'
import { HELD_ABOVE, HELD_CURRENCY } from '../workload/colleagues.ts'
import type { History } from '../workload/history.ts'
import type { AuditBatch, StoredApproval } from './acts.ts'
import { isOfOperation, type JournalBatch, type JournalEntry } from './ledger.ts'

/** A stored policy; without an amount it was removed. */
interface StoredPolicy {
  readonly rpc: string
  readonly currency: string
  readonly above_minor?: bigint
}

/** What a decision of the operator ends once: the field of its id, and whether it waits for the decision. */
const DECIDED: Readonly<
  Record<string, { readonly id: string; isOpen(document: Readonly<Record<string, unknown>>): boolean }>
> = {
  'support.refunds': { id: 'refund_id', isOpen: ({ status }) => status === 'pending' },
  'payments.anomalies': { id: 'anomaly_id', isOpen: ({ resolution }) => resolution === undefined },
}

const SET_POLICY = 'multihub.backoffice.v1.ApprovalService/SetApprovalPolicy'

/** What an approval may become. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  pending: ['pending', 'approved', 'rejected', 'expired', 'obsolete'],
  approved: ['approved', 'executed'],
}

/**
 * Judges each change that an act of the operator makes (O4, O5): its intent is stored before, and a second person has agreed before
 * what needs one, such as a policy that permits more. What it decides is decided once. `acts` collects the ids of all acts that owners have
 * kept, and `forgotten_acts` of those that a document no longer has.
 */
export function createActWatch({ acts, forgotten_acts }: Pick<History, 'acts' | 'forgotten_acts'>) {
  const intents = new Set<string>()
  const approvals = new Map<string, StoredApproval>()
  const decisions = createDecisionWatch(approvals)

  function* actProblems(name: string, ids: Iterable<string>): Iterable<string> {
    for (const audit_id of ids) {
      if (!intents.has(audit_id))
        yield `${name} was changed by the act ${audit_id} before its intent was stored`
      acts.add(audit_id)
    }
  }

  function* adjustmentProblems(entry: JournalEntry): Iterable<string> {
    const { id, kind, currency, amount, refused_code } = entry
    if (kind !== 'adjustment' || currency !== HELD_CURRENCY || refused_code !== undefined) return
    if (amount <= HELD_ABOVE) return
    const approval = [...approvals.values()].find(({ operation_id = '' }) =>
      isOfOperation(entry, operation_id),
    )
    if (approval === undefined) yield `the entry ${id} was made without a second person`
    else if (!['approved', 'executed'].includes(approval.status))
      yield `the entry ${id} was made while its approval was ${approval.status}`
  }

  function* policyProblems(before: StoredPolicy | undefined, after: StoredPolicy): Iterable<string> {
    const { rpc, currency, above_minor } = after
    const previous = before?.above_minor
    if (previous === undefined || (above_minor !== undefined && above_minor <= previous)) return
    const is_agreed = [...approvals.values()].some(({ rpc: proposed, status, shown_request }) => {
      if (proposed !== SET_POLICY || !['approved', 'executed'].includes(status)) return false
      const request = JSON.parse(shown_request)
      const asked = request.aboveMinor === undefined ? undefined : BigInt(request.aboveMinor)
      return request.rpc === rpc && request.currency === currency && asked === above_minor
    })
    if (!is_agreed)
      yield `the policy of ${rpc} and ${currency} went from ${previous} to ${above_minor} without a second person`
  }

  return {
    *onChange(name: string, { before, after }: Change): Iterable<string> {
      const known = (before?.['act_ids'] ?? []) as readonly string[]
      const ids = (after?.['act_ids'] ?? []) as readonly string[]
      for (const id of known) if (!ids.includes(id)) forgotten_acts.add(id)
      if (after === undefined) return
      if (name === 'backoffice.audit') {
        for (const { kind, audit_id } of (after as unknown as AuditBatch).records)
          if (kind === 'intent') intents.add(audit_id)
      }
      if (name === 'backoffice.approvals') {
        const approval = after as unknown as StoredApproval
        yield* approvalProblems(before as unknown as StoredApproval | undefined, approval)
        approvals.set(approval.approval_id, approval)
      }
      if (name === 'backoffice.approval_policies')
        yield* policyProblems(before as unknown as StoredPolicy | undefined, after as unknown as StoredPolicy)
      if (name === 'balances.journal' && before === undefined)
        for (const entry of (after as unknown as JournalBatch).entries) {
          if (entry.audit_id !== undefined) yield* actProblems(`the entry ${entry.id}`, [entry.audit_id])
          yield* adjustmentProblems(entry)
        }
      yield* decisions.onChange(name, { before, after })
      yield* actProblems(
        name,
        ids.filter((id) => !known.includes(id)),
      )
    },
  }
}

/** A refund or anomaly is decided once, and by an approved call only under the act that approved it. */
function createDecisionWatch(approvals: ReadonlyMap<string, StoredApproval>) {
  const decided = new Set<string>()
  return {
    *onChange(name: string, { before, after }: Pick<Change, 'before' | 'after'>): Iterable<string> {
      const kind = DECIDED[name]
      if (kind === undefined || after === undefined) return
      const id = String(after[kind.id])
      // Such as after a restore, or a dismissal while the cause lasts, which opens an anomaly again.
      if (before === undefined || (!kind.isOpen(before) && kind.isOpen(after))) decided.delete(id)
      else if (kind.isOpen(before) && !kind.isOpen(after)) {
        if (decided.has(id)) yield `${name} ${id} was decided twice`
        decided.add(id)
        const act_ids = (after['act_ids'] ?? []) as readonly string[]
        for (const approval of approvals.values())
          if (approval.audit_id !== undefined && act_ids.includes(approval.audit_id))
            yield* approvedDecisionProblems(`${name} ${id}`, approval, id)
      }
    },
  }
}

function* approvedDecisionProblems(
  name: string,
  { approval_id, status, shown_request }: StoredApproval,
  id: string,
): Iterable<string> {
  const { refundId, anomalyId } = JSON.parse(shown_request)
  if (refundId !== id && anomalyId !== id)
    yield `${name} was decided under the approval ${approval_id} of another`
  if (!['approved', 'executed'].includes(status))
    yield `${name} was decided while its approval ${approval_id} was ${status}`
}

function* approvalProblems(before: StoredApproval | undefined, after: StoredApproval): Iterable<string> {
  const { approval_id, status, proposer_id, decider_id, decided_at, expires_at } = after
  if (decided_at !== undefined && decided_at >= expires_at)
    yield `the approval ${approval_id} was decided after it had expired`
  if (decider_id === proposer_id) yield `the approval ${approval_id} was decided by its proposer`
  if (before === undefined) {
    if (status !== 'pending') yield `the approval ${approval_id} begins as ${status}`
  } else if (before.status !== status && !NEXT[before.status]?.includes(status))
    yield `the approval ${approval_id} went from ${before.status} to ${status}`
}
