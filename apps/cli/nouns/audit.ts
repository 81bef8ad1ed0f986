import type { Noun } from './noun.ts'

/** `multihub audit`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/backoffice/v1/audit_service_pb.ts')).AuditService,
  verbs: [
    {
      name: 'list',
      about: 'list acts, the newest first; --rpc and --principal take what the list shows',
      rpc: 'listAuditEntries',
      columns: ['time', 'principal_name', 'rpc:short', 'outcome', 'merchant_id', 'reason', 'audit_id'],
    },
    { name: 'show', about: 'show an act with its request', rpc: 'getAuditEntry', id: 'audit_id' },
    { name: 'verify', about: 'check that no act was changed or taken away', rpc: 'verifyAudit' },
  ],
}
