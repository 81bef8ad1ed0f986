import { countOpen } from '#lib/patterns/open-items.ts'
import { type Page, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import { insertOrGet, update, upsert } from '#lib/patterns/update.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import { type ChangedByApprovals, isRepetition, withApproval } from '../../domain/approval-ids.ts'
import type { Approval, ApprovalPolicy, ApprovalStatus } from '../domain/approval.ts'

/** The stored approvals and policies. */
export type Approvals = Awaited<ReturnType<typeof openApprovals>>

/** The policies of one read. The `POLICY_RPCS` in each currency can be more. */
const POLICIES_PER_READ = 1_000

/** Approved calls that are executed in one walk after a crash. */
const APPROVED_MAX = 1_000

const LIST = { name: 'approvals' } as const

type ApprovalDocument = Approval & { readonly list: string }

/** A policy; without an amount it was removed, and keeps who did it. */
type PolicyDocument = ChangedPolicy & ChangedByApprovals & { readonly list: string }

const POLICY_SPEC = {
  name: 'approval_policies',
  partition: ['list'],
  key: ['list', 'rpc', 'currency'],
  indexes: ACT_INDEX,
} as const satisfies CollectionSpec

interface ProposingAct {
  readonly audit_id: string
  readonly rpc: string
}

type ChangedPolicy = Pick<ApprovalPolicy, 'rpc' | 'currency'> & { readonly above_minor?: bigint | undefined }

/** Opens the collections `approval_policies` and `approvals`. */
export async function openApprovals(store: Store) {
  const policies = await store.collection<PolicyDocument>(POLICY_SPEC)
  const approvals = await store.collection<ApprovalDocument>({
    name: 'approvals',
    partition: ['list'],
    key: ['list', 'approval_id'],
    indexes: {
      by_time: { fields: ['list', 'created_at'] },
      by_status: { fields: ['list', 'status', 'created_at'] },
      ...ACT_INDEX,
      by_expiry: { fields: ['list', 'status', 'expires_at'] },
    },
  })
  const list = LIST.name
  const keyOf = (approval_id: string) => ({ list, approval_id })
  return {
    /** All policies, which no process may read from a cache: a new policy counts at once. */
    async listPolicies(): Promise<ApprovalPolicy[]> {
      const found: ApprovalPolicy[] = []
      for (let after: PolicyDocument | undefined; ; ) {
        const options = { limit: POLICIES_PER_READ, linearizable: true, after }
        const some = await policies.find('key', { equals: [list] }, options)
        found.push(...some.filter((policy) => isPolicy(policy)))
        if (some.length < POLICIES_PER_READ) return found
        after = some.at(-1)
      }
    },
    /**
     * Sets a policy, or removes it without an amount; once per `approval_id` where a second person approved it (O5). Throws what `check`
     * throws of the present one, in the guarded write: a colleague may have made it stricter meanwhile.
     */
    async setPolicy(
      { rpc, currency, above_minor }: ChangedPolicy,
      approval_id?: string,
      check: (present: ApprovalPolicy | undefined) => void = () => {},
    ): Promise<void> {
      const key = { list, rpc, currency }
      await upsert(policies, key, (present) => {
        if (isRepetition(present, approval_id)) return undefined
        check(isPolicy(present) ? present : undefined)
        if (present === undefined && above_minor === undefined) return undefined
        return { ...key, above_minor, ...withApproval(present, approval_id) }
      })
    },
    /** The approval with this id. */
    get: (id: string): Promise<Approval | undefined> => approvals.get(keyOf(id), { linearizable: true }),
    findProposal: (act: ProposingAct) => findProposal(approvals, act),
    /** Adds an approval, or returns the one with this id. */
    async insertOrGet(approval: Approval): Promise<Approval> {
      const document = { ...approval, list }
      return (await insertOrGet<ApprovalDocument>(approvals, keyOf(approval.approval_id), document)).stored
    },
    /** Stores what `change` makes of an approval, unless that is `undefined`. Returns the stored one. */
    update: (
      approval_id: string,
      change: (current: Approval) => Approval | undefined,
    ): Promise<Approval | undefined> =>
      update(approvals, keyOf(approval_id), (current) => {
        const next = change(current)
        return next && { ...next, list }
      }),
    /** The approvals that were approved and not executed yet: after a crash, or while an owner cannot be reached. */
    listApproved: (): Promise<Approval[]> =>
      approvals.find('by_status', { equals: [list, 'approved'] }, { limit: APPROVED_MAX }),
    /** Pending approvals whose time is over. */
    listOverdue: (at: Date): Promise<Approval[]> =>
      approvals.find('by_expiry', { equals: [list, 'pending'], to: at }, { limit: APPROVED_MAX }),
    /** Counts the approvals that wait for a decision. */
    countPending: () =>
      countOpen(
        approvals,
        [{ index: 'by_status', fixed: { list, status: 'pending' } }],
        (one) => one.created_at,
      ),
    /** A page of approvals, the newest first. */
    list(status: ApprovalStatus | undefined, request: PageRequest): Promise<Page<Approval>> {
      const position = { created_at: 'instant', approval_id: 'text' } as const
      const common = { collection: approvals, reverse: true, position }
      const token_scope = status === undefined ? { list } : { list, status }
      const index = status === undefined ? 'by_time' : 'by_status'
      const range = { equals: Object.values(token_scope) }
      return readPage({ ...common, index, range, token_scope }, request)
    },
  }
}

/** The id of the approval that an act of this RPC has proposed. Its document keeps the act (O4); a decision is an act of its own. */
async function findProposal(
  approvals: Pick<Collection<ApprovalDocument>, 'find'>,
  { audit_id, rpc }: ProposingAct,
): Promise<string | undefined> {
  const changed = await approvals.find('by_act', { equals: [audit_id] }, { limit: 1, linearizable: true })
  return changed.find((approval) => approval.rpc === rpc)?.approval_id
}

function isPolicy(policy: ChangedPolicy | undefined): policy is ApprovalPolicy & ChangedPolicy {
  return policy?.above_minor !== undefined
}
