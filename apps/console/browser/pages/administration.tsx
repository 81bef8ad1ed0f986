import type { ReactNode } from 'react'
import { type AuditEntry, AuditEntrySchema } from '#gen/multihub/backoffice/v1/audit_pb.ts'
import { AuditService } from '#gen/multihub/backoffice/v1/audit_service_pb.ts'
import { type Principal, PrincipalSchema } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { createPrincipal, principal_acts } from '../../forms/people.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'

const audit: ListSpec<AuditEntry> = {
  path: '/audit',
  title: 'Audit',
  question: 'Who changed or revealed what, why, and what came of it, the newest first.',
  desc: AuditEntrySchema,
  list: AuditService.method.listAuditEntries,
  items: 'entries',
  id: 'auditId',
  columns: ['audit_id', 'time', 'principal_name', 'rpc', 'outcome', 'merchant_id', 'reason'],
  filters: {
    principal: 'principal_id',
    rpc: 'rpc',
    merchant: 'merchant_id',
    kind: 'target_kind',
    target: 'target_id',
    created: 'created_from',
  },
  get: { method: AuditService.method.getAuditEntry, field: 'entry' },
  empty: 'Nobody has changed anything yet.',
}

/** The audit trail. */
export function AuditPage(): ReactNode {
  return <ListPage spec={audit} />
}

const people: ListSpec<Principal> = {
  path: '/people',
  title: 'People and programs',
  question: 'Who may call the back office, and with which rights.',
  desc: PrincipalSchema,
  list: PrincipalService.method.listPrincipals,
  items: 'principals',
  id: 'principalId',
  columns: ['name', 'kind', 'rights', 'status', 'merchant_id', 'expires_at', 'create_time'],
  filters: {},
  get: { method: PrincipalService.method.getPrincipal, field: 'principal' },
  acts: principal_acts,
  empty: 'There is no principal yet.',
}

/** The list of principals. */
export function PeoplePage(): ReactNode {
  return (
    <ListPage spec={people}>
      <ActBar acts={[createPrincipal]} item={undefined} />
    </ListPage>
  )
}
