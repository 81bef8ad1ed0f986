import type { ReactNode } from 'react'
import {
  type Approval,
  type ApprovalPolicy,
  ApprovalPolicySchema,
  ApprovalSchema,
} from '#gen/multihub/backoffice/v1/approval_pb.ts'
import { ApprovalService } from '#gen/multihub/backoffice/v1/approval_service_pb.ts'
import { approval_acts, policy_acts, setPolicy } from '../../forms/approvals.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { ItemList, type ItemListSpec } from '../lists/item-list.tsx'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

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
  acts: approval_acts,
  empty: 'No call has needed a second person. Policies say which calls do.',
}

const policies: ItemListSpec<ApprovalPolicy> = {
  title: 'Policies',
  method: ApprovalService.method.listApprovalPolicies,
  items: 'policies',
  desc: ApprovalPolicySchema,
  names: ['rpc', 'currency'],
  acts: policy_acts,
}

/** The list of calls that need a second person, and the policies that say which do. */
export function ApprovalsPage(): ReactNode {
  return (
    <>
      <ListPage spec={approvals} />
      <ItemList spec={policies} request={{}}>
        <ActBar acts={[setPolicy]} item={undefined} is_main={false} />
      </ItemList>
    </>
  )
}
