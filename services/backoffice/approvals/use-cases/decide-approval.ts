import { fromBinary } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { currentAct } from '#lib/base/context.ts'
import { now } from '#lib/base/time.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import { nameOfRpc, OPERATOR_RPCS } from '../../domain/operator-rpcs.ts'
import { isActive, type Principal } from '../../domain/principal.ts'
import { hasRight } from '../../domain/rights.ts'
import { type Approval, decide, statusAt } from '../domain/approval.ts'
import type { Approvals } from '../store/approvals.ts'

interface DecideDeps {
  readonly approvals: Pick<Approvals, 'get' | 'update'>
  readonly getPrincipal: (principal_id: string) => Promise<Principal | undefined>
}

interface Decision {
  readonly approval_id: string
  readonly status: 'approved' | 'rejected'
  readonly decider_id: string
  readonly reason: string
}

/**
 * Decides about a call as the second person (O5), whom the door has checked. To approve, the proposer must have its right still. A
 * repetition by the same person changes nothing. Throws 8801 with the status of an approval that was decided otherwise or expired.
 */
export async function decideApproval(
  { approvals, getPrincipal }: DecideDeps,
  { approval_id, status, decider_id, reason }: Decision,
): Promise<Approval> {
  const approval = await approvals.get(approval_id)
  if (approval === undefined) throw fieldError(1003, 'approval_id', 'nothing has this id')
  if (status === 'approved' && !mayPropose(await getPrincipal(approval.proposer_id), approval))
    throw new PublicError(8801, { details: { approval_id, reason: 'the proposer has lost the right' } })
  const audit_id = currentAct()
  const stored = await approvals.update(approval_id, (current) =>
    decide(current, { status, decider_id, reason, audit_id }, now()),
  )
  const result = stored ?? approval
  const present = statusAt(result, now())
  const is_so = present === status || (status === 'approved' && present === 'executed')
  if (!is_so || result.decider_id !== decider_id)
    throw new PublicError(8801, { details: { approval_id, status: present } })
  return result
}

/** Throws PERMISSION_DENIED unless a principal may be the second person of a call. */
export function checkDecider(approval: Approval, decider: Principal): void {
  const refuse = (reason: string): never => {
    throw new RpcStatusError(Code.PermissionDenied, reason)
  }
  if (decider.kind !== 'person') refuse('only a person decides about an approval')
  if (decider.principal_id === approval.proposer_id) refuse('the proposer does not decide about its own call')
  if (!mayCall(decider, approval)) refuse(`the decision needs the right for ${approval.rpc}`)
}

function mayPropose(proposer: Principal | undefined, approval: Approval): boolean {
  if (approval.by_sign_in === undefined) return mayCall(proposer, approval)
  return proposer !== undefined && isActive(proposer, now())
}

function mayCall(principal: Principal | undefined, { rpc, request }: Approval): boolean {
  const row = OPERATOR_RPCS.find(({ method }) => nameOfRpc(method) === rpc)
  if (principal === undefined || row === undefined || !isActive(principal, now())) return false
  const { rights, rightsOf, method } = row
  const needed = rightsOf === undefined ? rights : rightsOf(fromBinary(method.input, request))
  return principal.merchant_id === undefined && hasRight(principal.rights, needed)
}
