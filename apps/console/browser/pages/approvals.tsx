import type { ReactNode } from 'react'
import { type Approval, ApprovalSchema, ApprovalStatus } from '#gen/multihub/backoffice/v1/approval_pb.ts'
import { ApprovalService } from '#gen/multihub/backoffice/v1/approval_service_pb.ts'
import { type Act, moneyWords } from '../acts/act.ts'
import { callRpc } from '../call/call-rpc.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

const isPending = ({ status }: Approval): boolean => status === ApprovalStatus.PENDING
const nameOf = ({ rpc }: Approval): string => rpc.slice(rpc.lastIndexOf('.') + 1)

const acts: readonly Act<Approval>[] = [
  {
    name: 'Approve',
    rights: ['money', 'admin'],
    isOffered: isPending,
    effects: (approval) => [
      `${nameOf(approval)} of ${moneyWords(approval.amount)} is executed at once, exactly once.`,
      `It was proposed by ${approval.proposerId}: "${approval.reason}"`,
      `The request: ${approval.request}`,
      'Whoever has proposed it cannot approve it.',
    ],
    async run({ approvalId }, { reason }) {
      const { approval } = await callRpc(ApprovalService.method.approve, { approvalId, reason }, { reason })
      const code = approval?.errorCode ?? 0
      if (code !== 0) throw new Error(`it is approved, but the call itself was refused with code ${code}`)
      return undefined
    },
  },
  {
    name: 'Reject',
    rights: ['money', 'admin'],
    isOffered: isPending,
    effects: (approval) => [
      `${nameOf(approval)} of ${moneyWords(approval.amount)} never happens. It is final.`,
    ],
    async run({ approvalId }, { reason }) {
      await callRpc(ApprovalService.method.reject, { approvalId, reason }, { reason })
      return undefined
    },
  },
]

const approvals: ListSpec<Approval> = {
  path: '/approvals',
  title: 'Approvals',
  question: 'Which calls wait for a second person, and what became of the others, the newest first.',
  desc: ApprovalSchema,
  list: ApprovalService.method.listApprovals,
  items: 'approvals',
  id: 'approvalId',
  columns: ['approval_id', 'rpc', 'amount', 'status', 'proposer_id', 'reason', 'expire_time'],
  filters: { status: 'status' },
  get: { method: ApprovalService.method.getApproval, field: 'approval' },
  acts,
  empty: 'No call has needed a second person. Policies say which calls do.',
}

/** The list of calls that need a second person. */
export function ApprovalsPage(): ReactNode {
  return <ListPage spec={approvals} />
}
