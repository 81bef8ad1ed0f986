import {
  type Approval,
  type ApprovalPolicy,
  ApprovalStatus,
} from '#gen/multihub/backoffice/v1/approval_pb.ts'
import { ApprovalService } from '#gen/multihub/backoffice/v1/approval_service_pb.ts'
import { POLICY_RPCS } from '#lib/contract/policy-rpcs.ts'
import { type Act, act, moneyWords } from './act.ts'

const isPending = ({ status }: Approval): boolean => status === ApprovalStatus.PENDING
const nameOf = ({ rpc }: { readonly rpc: string }): string => rpc.slice(rpc.lastIndexOf('.') + 1)

/** What can be done with a call that waits for a second person. */
export const approval_acts: readonly Act<Approval>[] = [
  act({
    name: 'Approve',
    method: ApprovalService.method.approve,
    isOffered: isPending,
    effects: (approval: Approval) => [
      `${nameOf(approval)} of ${moneyWords(approval.amount)} is executed at once, exactly once.`,
      `It was proposed by ${approval.proposerId}: "${approval.reason}"`,
      `The request: ${approval.request}`,
      'Whoever has proposed it cannot approve it.',
    ],
    request: ({ approvalId }) => ({ approvalId }),
    outcome({ approval }) {
      const code = approval?.errorCode ?? 0
      return code === 0
        ? {}
        : { sentences: [`It is approved, but the call itself was refused with code ${code}.`] }
    },
  }),
  act({
    name: 'Reject',
    method: ApprovalService.method.reject,
    isOffered: isPending,
    effects: (approval: Approval) => [
      `${nameOf(approval)} of ${moneyWords(approval.amount)} never happens. It is final.`,
    ],
    request: ({ approvalId }) => ({ approvalId }),
  }),
]

/** A new policy, or another amount of one. */
export const setPolicy = act({
  name: 'Set policy',
  method: ApprovalService.method.setApprovalPolicy,
  keys: 'n p',
  effects: (_none: undefined) => [
    'A call above this amount changes nothing until a second person with the same right approves it.',
    'While any policy exists, loosening one and giving somebody the right money or admin need a second person too.',
  ],
  fields: () => [
    { name: 'rpc', label: 'Call', kind: 'choice', choices: POLICY_RPCS },
    { name: 'currency', help: 'Such as INR.' },
    { name: 'above_minor', label: 'One person may move alone up to', kind: 'amount', initial: '0' },
  ],
  request: (_none, { currency = '' }) => ({ currency: currency.trim().toUpperCase() }),
})

/** What can be done with a policy. */
export const policy_acts: readonly Act<ApprovalPolicy>[] = [
  act({
    name: 'Remove',
    method: ApprovalService.method.setApprovalPolicy,
    effects: (policy: ApprovalPolicy) => [
      `Calls of ${nameOf(policy)} in ${policy.currency} need no second person any more.`,
      'A second person must agree to that.',
    ],
    request: ({ rpc, currency }) => ({ rpc, currency }),
  }),
]
