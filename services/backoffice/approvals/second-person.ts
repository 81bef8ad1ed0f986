import { fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import { currentRequest, withRequest } from '#lib/base/context.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { checkLine } from '#lib/contract/operator-fields.ts'
import { POLICY_RPCS } from '#lib/contract/policy-rpcs.ts'
import { PRINCIPAL_HEADER } from '#lib/rpc/principal.ts'
import { AUDIT_HEADER } from '#lib/rpc/settings.ts'
import { log } from '#lib/telemetry/log.ts'
import { nameOfRpc, OPERATOR_RPCS, type OperatorRpc } from '../domain/operator-rpcs.ts'
import { isPower, type Principal } from '../domain/principal.ts'
import { FIRST_PRINCIPAL } from '../door/authenticate.ts'
import type { CallOwner } from '../door/call-owner.ts'
import { fieldsOf, idOf } from '../door/message-fields.ts'
import type { OperatorCall, SecondPerson } from '../door/operator-call.ts'
import { errorCodeOf, isUnclear } from '../door/refusals.ts'
import { APPROVAL_HEADER } from '../rpc/principal-service.ts'
import { startApprovalSweep } from './approval-sweep.ts'
import {
  type Approval,
  type ApprovalPolicy,
  approvalId,
  executed,
  loosens,
  type MovedMoney,
  needsSecondPerson,
  propose,
  statusAt,
} from './domain/approval.ts'
import type { Approvals } from './store/approvals.ts'
import { findMovedMoney } from './subjects.ts'
import { checkDecider } from './use-cases/decide-approval.ts'

/*
 * The statuses of an approval:
 *
 *     call --guard--> pending --Approve--> approved --owner answered--> executed
 *                        |                    ^  |
 *                        |                    +--+ no answer: again after 5 s
 *                        +--Reject--> rejected
 *                        +--24 h----> expired
 *                        +--its refund, chargeback, anomaly or principal ended otherwise--> obsolete
 */

/** The most proposals of one call without an operation id. */
const ROUNDS_MAX = 1_000

const SET_POLICY = 'multihub.backoffice.v1.ApprovalService/SetApprovalPolicy'
const CREATE_PRINCIPAL = 'multihub.backoffice.v1.PrincipalService/CreatePrincipal'
/** The RPC by which a principal gets rights. */
export const UPDATE_PRINCIPAL = 'multihub.backoffice.v1.PrincipalService/UpdatePrincipal'
const ROTATE_TOKEN = 'multihub.backoffice.v1.PrincipalService/RotateToken'

const DECISIONS: readonly string[] = [
  'multihub.backoffice.v1.ApprovalService/Approve',
  'multihub.backoffice.v1.ApprovalService/Reject',
]

/** Dependencies of the second person. `show` returns a request as people may see it. */
export interface SecondPersonDeps {
  readonly approvals: Approvals
  readonly getPrincipal: (principal_id: string) => Promise<Principal | undefined>
  readonly callOwner: CallOwner
  readonly show: (call: Pick<OperatorCall, 'rpc' | 'request'>) => string
}

/**
 * Holds back calls that one person may not make alone (O5). `guard` runs before the call of the owner. It throws 8801 with the id and
 * status of the approval, and PERMISSION_DENIED for a decision of a principal that may not be the second person. `execute` calls the
 * owner under the operation id of the approved call, so that the owner acts once; the back office itself, whose calls may have none,
 * acts once per approval id. Each process repeats it every 5 s while the answer is unknown.
 */
export function startSecondPerson(deps: SecondPersonDeps) {
  const { approvals, callOwner, show } = deps

  async function execute(read: Approval): Promise<Approval> {
    const { approval_id } = read
    // The call may have waited for its turn, and another process may have executed it meanwhile.
    const approval = await approvals.get(approval_id)
    if (approval?.status !== 'approved') return approval ?? read
    const rpc = rowOf(approval.rpc)
    const { input } = rpc.method
    let error_code = 0
    try {
      const headers = {
        [PRINCIPAL_HEADER]: approval.proposer_id,
        [APPROVAL_HEADER]: approval_id,
        ...(approval.audit_id === undefined ? {} : { [AUDIT_HEADER]: approval.audit_id }),
      }
      await callOwner(rpc.method, fromBinary(input, approval.request), { headers })
    } catch (error) {
      if (isUnclear(error)) {
        log.warn({ error, kind: approval.rpc }, 'an approved call has no answer yet and is repeated')
        return approval
      }
      error_code = errorCodeOf(error)
    }
    return (await approvals.update(approval_id, (current) => executed(current, error_code))) ?? approval
  }

  const guard: SecondPerson = async (call, send, beginSending) => {
    const rpc = nameOfRpc(call.rpc.method)
    if (DECISIONS.includes(rpc)) {
      const approval = await approvals.get(checkLine(idOf(call.request, 'approvalId'), 'approval_id'))
      if (approval !== undefined) checkDecider(approval, call.principal)
    }
    if (rpc === ROTATE_TOKEN) await checkRotation(deps, call)
    if (!isGuarded(rpc) || isWayBack(rpc, call.principal)) return send()
    const request = toBinary(call.rpc.method.input, call.request)
    const operation_id = idOf(call.request, 'operationId')
    const { present, next_id } = await findApproval(approvals, rpc, operation_id, request)
    if (present !== undefined) {
      if (!Buffer.from(present.request).equals(request)) throw new PublicError(1013)
      const status = statusAt(present, now())
      if (status !== 'approved' && status !== 'executed') throw waits(present)
      // An approved call is executed once, also after its approval would have expired. From here on it may be done.
      beginSending()
      await execute(present)
      return send({ [APPROVAL_HEADER]: present.approval_id })
    }
    const moved = await findHeldBack(deps, call)
    if (moved === undefined) return send()
    const { principal, reason } = call
    const { minor, currency } = moved
    const proposal = propose(
      {
        approval_id: next_id,
        rpc,
        operation_id: operation_id === '' ? undefined : operation_id,
        amount: minor === undefined || currency === undefined ? undefined : { minor, currency },
        request,
        shown_request: show(call),
        proposer_id: principal.principal_id,
        reason,
      },
      now(),
    )
    // The stored proposal shows what came of the act, should this process be lost before it writes that (O4).
    const audit_id = beginSending()[AUDIT_HEADER]
    const act = audit_id === undefined ? {} : { act: { audit_id, is_over: false } }
    throw waits(await withRequest({ ...currentRequest(), ...act }, () => approvals.insertOrGet(proposal)))
  }

  return { guard, execute, ...startApprovalSweep({ approvals, callOwner, execute }) }
}

/** The row of an RPC. Throws a `TypeError` for one that is not in the table. */
export function rowOf(name: string): OperatorRpc {
  const row = OPERATOR_RPCS.find(({ method }) => nameOfRpc(method) === name)
  if (row === undefined) throw new TypeError(`${name} is not an RPC of the operator`)
  return row
}

function isGuarded(rpc: string): boolean {
  return POLICY_RPCS.includes(rpc) || [SET_POLICY, CREATE_PRINCIPAL, UPDATE_PRINCIPAL].includes(rpc)
}

/** The first token counts while no administrator is left, so nobody could approve that it removes a policy (O5.9). */
function isWayBack(rpc: string, { principal_id }: Principal): boolean {
  return rpc === SET_POLICY && principal_id === FIRST_PRINCIPAL.principal_id
}

/** The refusal of a call that waits, was rejected or has expired. */
function waits(approval: Approval): PublicError {
  return new PublicError(8801, {
    details: { approval_id: approval.approval_id, status: statusAt(approval, now()) },
  })
}

/**
 * The approval of a call. With an operation id there is one permanently. Without one, the same request can be proposed again once
 * the proposal before it has ended.
 */
export async function findApproval(
  approvals: Pick<Approvals, 'get'>,
  rpc: string,
  operation_id: string,
  request: Uint8Array,
): Promise<{ readonly present?: Approval; readonly next_id: string }> {
  if (operation_id !== '') {
    const next_id = approvalId(rpc, operation_id, 1)
    const present = await approvals.get(next_id)
    return present === undefined ? { next_id } : { present, next_id }
  }
  const operation = sha256Hex(request)
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const next_id = approvalId(rpc, operation, round)
    const present = await approvals.get(next_id)
    if (present === undefined) return { next_id }
    const status = statusAt(present, now())
    if (status === 'pending' || status === 'approved') return { present, next_id }
  }
  throw new PublicError(8801, { details: { reason: `it was proposed ${ROUNDS_MAX} times` } })
}

/** The money that a call would move, if the call needs a second person; otherwise `undefined`. */
async function findHeldBack(deps: SecondPersonDeps, call: OperatorCall): Promise<MovedMoney | undefined> {
  const name = nameOfRpc(call.rpc.method)
  const policies = await deps.approvals.listPolicies()
  if (policies.length === 0) return undefined
  if (!POLICY_RPCS.includes(name)) return (await extendsPower(deps, policies, call)) ? {} : undefined
  if (policies.every(({ rpc }) => rpc !== name)) return undefined
  const moved = await findMovedMoney(call.rpc, call.request, deps.callOwner)
  return moved !== undefined && needsSecondPerson(policies, name, moved) ? moved : undefined
}

/** Whether a call loosens a policy, or gives a principal a power that it did not have. */
async function extendsPower(
  { getPrincipal }: SecondPersonDeps,
  policies: readonly ApprovalPolicy[],
  { rpc, request }: OperatorCall,
): Promise<boolean> {
  const name = nameOfRpc(rpc.method)
  if (name === SET_POLICY) return loosensPolicy(policies, request)
  const given = rightsIn(request)
  if (name === CREATE_PRINCIPAL) return given.length > 0
  const { rights = [] } = (await getPrincipal(checkLine(idOf(request, 'principalId'), 'principal_id'))) ?? {}
  const has_power = [...rights, ...given].some((right) => isPower(right))
  const { expiresAt, neverExpires } = fieldsOf(request)
  const is_extended = expiresAt !== undefined || neverExpires === true
  return given.some((right) => !rights.some((one) => one === right)) || (has_power && is_extended)
}

/**
 * Refuses a token of another principal with `money` or `admin` while a policy exists: the caller could use it to
 * approve its own proposals. The first token of a principal that a second person approved is issued. Throws 8801.
 */
async function checkRotation(
  { approvals, getPrincipal }: SecondPersonDeps,
  { principal, request }: OperatorCall,
): Promise<void> {
  const target = await getPrincipal(checkLine(idOf(request, 'principalId'), 'principal_id'))
  const is_own = target?.principal_id === principal.principal_id
  if (target === undefined || is_own || target.tokens.length === 0 || !target.rights.some(isPower)) return
  if ((await approvals.listPolicies()).length === 0) return
  const reason = 'it rotates its own token; without one, revoke it and create another principal'
  throw new PublicError(8801, { details: { reason } })
}

function loosensPolicy(policies: readonly ApprovalPolicy[], request: Message): boolean {
  const { rpc, currency, aboveMinor } = fieldsOf(request)
  const before = policies.find((policy) => policy.rpc === rpc && policy.currency === currency)
  return loosens(before, typeof aboveMinor === 'bigint' ? aboveMinor : undefined)
}

function rightsIn(request: Message): readonly string[] {
  const { rights } = fieldsOf(request)
  return Array.isArray(rights) ? rights.map(String).filter(isPower) : []
}
