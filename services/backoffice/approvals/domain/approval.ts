import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Money } from '#lib/contract/money.ts'

/** A pending approval expires after this time (O5). */
const EXPIRE_MS = 24 * 3_600_000

/** The status of an approval. A pending one counts as expired from `expires_at` on. */
export type ApprovalStatus = 'pending' | 'approved' | 'executed' | 'rejected' | 'expired' | 'obsolete'

/** A call that needs a second person (O5). */
export interface Approval {
  readonly approval_id: string
  readonly status: ApprovalStatus
  readonly rpc: string
  readonly operation_id?: string | undefined
  readonly amount?: Money | undefined
  /** The request in binary, as it is executed, and what people see of it. */
  readonly request: Uint8Array
  readonly shown_request: string
  readonly proposer_id: string
  /** Set when a sign-in proposed it: the proposer is the person that would get the rights, and needs no right to propose them. */
  readonly by_sign_in?: true
  readonly reason?: string | undefined
  readonly created_at: Date
  readonly expires_at: Date
  readonly decider_id?: string
  readonly decision_reason?: string
  readonly decided_at?: Date
  /** The act of the decider, which is also the act of the call when it is executed (O4). */
  readonly audit_id?: string | undefined
  readonly error_code?: number
}

/** The amount from which the calls of an RPC need a second person. */
export interface ApprovalPolicy {
  readonly rpc: string
  readonly currency: string
  readonly above_minor: bigint
}

/** The money that a call would move, as far as it is known. */
export interface MovedMoney {
  readonly minor?: bigint | undefined
  readonly currency?: string | undefined
}

/**
 * Whether a call needs a second person. An amount counts without its sign. Without an amount, each policy of the currency applies;
 * without a currency, each policy of the RPC.
 */
export function needsSecondPerson(
  policies: readonly ApprovalPolicy[],
  rpc: string,
  { minor, currency }: MovedMoney,
): boolean {
  return policies.some(
    (policy) =>
      policy.rpc === rpc &&
      (currency === undefined || policy.currency === currency) &&
      (minor === undefined || (minor < 0n ? -minor : minor) > policy.above_minor),
  )
}

/** Whether a change of a policy lets one person do more than before. Making one stricter does not. */
export function loosens(before: ApprovalPolicy | undefined, above_minor: bigint | undefined): boolean {
  return before !== undefined && (above_minor === undefined || above_minor > before.above_minor)
}

/** The id of the one approval of an RPC and operation. `round` counts those of an RPC without operation ids, from 1. */
export function approvalId(rpc: string, operation: string, round: number): string {
  return sha256Hex(JSON.stringify(['approval', rpc, operation, round])).slice(0, 32)
}

/** Makes a pending approval. */
export function propose(fields: Omit<Approval, 'status' | 'created_at' | 'expires_at'>, at: Date): Approval {
  return { ...fields, status: 'pending', created_at: at, expires_at: new Date(at.getTime() + EXPIRE_MS) }
}

/** The status of an approval now. */
export function statusAt({ status, expires_at }: Approval, at: Date): ApprovalStatus {
  return status === 'pending' && expires_at <= at ? 'expired' : status
}

/** The approval after a decision; `undefined` when it cannot be decided any more. */
export function decide(
  approval: Approval,
  decision: {
    readonly status: 'approved' | 'rejected'
    readonly decider_id: string
    readonly reason: string
    readonly audit_id?: string | undefined
  },
  at: Date,
): Approval | undefined {
  if (statusAt(approval, at) !== 'pending') return undefined
  const { status, decider_id, reason, audit_id } = decision
  return { ...approval, status, decider_id, decision_reason: reason, decided_at: at, audit_id }
}

/** The approval after what it is about has ended otherwise; `undefined` when it does not wait for a decision any more. */
export function obsolete(approval: Approval, at: Date): Approval | undefined {
  return statusAt(approval, at) === 'pending' ? { ...approval, status: 'obsolete' } : undefined
}

/** The approval after the owner has answered; `undefined` when that is known already. */
export function executed(approval: Approval, error_code: number): Approval | undefined {
  return approval.status === 'approved' ? { ...approval, status: 'executed', error_code } : undefined
}
