import type { Mutation } from './mutation.ts'

/** Faults in the audit trail and in the approvals of a second person (O4, O5). */
export const BACKOFFICE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'an act begins before its intent is stored',
    file: 'services/backoffice/audit/audit.ts',
    search: "await append({ kind: 'intent', audit_id, ...boundedIntent(intent) })",
    replace: "append({ kind: 'intent', audit_id, ...boundedIntent(intent) }).catch(() => {})",
    has_backoffice: true,
  },
  {
    name: 'an approved call gets another operation id at each try',
    file: 'services/backoffice/approvals/second-person.ts',
    search: 'await callOwner(rpc.method, fromBinary(input, approval.request), { headers })',
    replace:
      'await callOwner(rpc.method, { ...fromBinary(input, approval.request), operationId: approval.approval_id + now().getTime() }, { headers })',
    has_backoffice: true,
  },
  {
    name: 'a call is executed while it waits for a second person',
    file: 'services/backoffice/approvals/second-person.ts',
    search: "if (status !== 'approved' && status !== 'executed') throw waits(present)",
    replace: "if (status === 'rejected') throw waits(present)",
    has_backoffice: true,
  },
]
