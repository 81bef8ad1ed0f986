import type { ReactNode } from 'react'
import { type AuditEntry, AuditEntrySchema } from '#gen/multihub/backoffice/v1/audit_pb.ts'
import { AuditService } from '#gen/multihub/backoffice/v1/audit_service_pb.ts'
import {
  type Principal,
  PrincipalKind,
  PrincipalSchema,
  PrincipalStatus,
} from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import type { Act } from '../acts/act.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { callRpc } from '../call/call-rpc.ts'
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
  empty: 'Nobody has changed anything yet.',
}

/** The audit trail. */
export function AuditPage(): ReactNode {
  return <ListPage spec={audit} />
}

const isActive = ({ status }: Principal): boolean => status === PrincipalStatus.ACTIVE

const acts: readonly Act<Principal>[] = [
  {
    name: 'Replace token',
    rights: ['admin'],
    isOffered: isActive,
    effects: ({ name }) => [
      `${name} gets a new token, which is shown once.`,
      'The present token counts for the time that you choose; sessions that began with it end then.',
    ],
    inputs: [
      { name: 'overlap', label: 'Minutes that the present token still counts', kind: 'text', initial: '0' },
    ],
    async run({ principalId }, { reason, inputs }) {
      const request = { principalId, overlapSeconds: Math.round(Number(inputs['overlap']) * 60) }
      return (await callRpc(PrincipalService.method.rotateToken, request, { reason })).token
    },
  },
  {
    name: 'Revoke',
    rights: ['admin'],
    isOffered: isActive,
    effects: ({ name }) => [`All tokens and sessions of ${name} end within 2 s, permanently.`],
    async run({ principalId }, { reason }) {
      await callRpc(PrincipalService.method.revokePrincipal, { principalId, reason }, { reason })
      return undefined
    },
  },
]

const createPrincipal: Act<undefined> = {
  name: 'New principal',
  rights: ['admin'],
  isOffered: () => true,
  effects: () => [
    'A person or a program may call the back office with a token, which is shown once.',
    'With a merchant it sees that merchant only, and its rights are among read, reveal and rotate.',
  ],
  inputs: [
    { name: 'name', label: 'Name', kind: 'text' },
    { name: 'kind', label: 'Kind', kind: 'choice', choices: ['person', 'program'] },
    {
      name: 'rights',
      label: 'Rights: read, support, money, admin, reveal, rotate',
      kind: 'text',
      initial: 'read',
    },
    { name: 'merchant', label: 'Merchant', kind: 'text', is_optional: true },
  ],
  async run(_none, { reason, operation_id, inputs }) {
    const request = {
      name: inputs['name'] ?? '',
      kind: inputs['kind'] === 'program' ? PrincipalKind.PROGRAM : PrincipalKind.PERSON,
      rights: (inputs['rights'] ?? '').split(/[\s,]+/).filter((right) => right !== ''),
      merchantId: inputs['merchant'] ?? '',
      operationId: operation_id,
    }
    return (await callRpc(PrincipalService.method.createPrincipal, request, { reason })).token || undefined
  },
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
  acts,
  empty: 'There is no principal yet.',
}

/** The list of principals. */
export function PeoplePage(): ReactNode {
  return (
    <>
      <ListPage spec={people} />
      <ActBar acts={[createPrincipal]} item={undefined} />
    </>
  )
}
