import type { Noun } from './noun.ts'

/** `multihub approvals`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/backoffice/v1/approval_service_pb.ts')).ApprovalService,
  verbs: [
    {
      name: 'list',
      about: 'list approvals, the newest first',
      rpc: 'listApprovals',
      columns: ['approval_id', 'rpc:short', 'amount', 'status', 'create_time', 'proposer_id', 'reason'],
      next: 'approvals show ID, then approve or reject ID --reason "..."',
    },
    { name: 'show', about: 'show an approval with its request', rpc: 'getApproval', id: 'approval_id' },
    {
      name: 'approve',
      about: 'approve a call as the second person: it is executed',
      rpc: 'approve',
      id: 'approval_id',
      refused_by: 'error_code',
    },
    { name: 'reject', about: 'reject a call', rpc: 'reject', id: 'approval_id' },
    {
      name: 'policies',
      about: 'list the amounts above which a second person is needed',
      rpc: 'listApprovalPolicies',
      columns: ['rpc', 'currency', 'above_minor:money'],
    },
    { name: 'set-policy', about: 'set or remove such an amount', rpc: 'setApprovalPolicy' },
  ],
}
