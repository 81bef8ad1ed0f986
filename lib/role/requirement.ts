import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { RefundStatus } from '#lib/contract/public-support.ts'
import type { RoleName } from './role.ts'

/** Something that another role must have stored, because a document of this role says so. */
export interface Requirement {
  readonly role: RoleName
  readonly merchant_id: string
  readonly environment: string
  /** The id under which the other role has it. */
  readonly id: string
  /** Since when the other role has it. */
  readonly at: Date
  /**
   * Set for an event without a destination of its own: it is required only if an endpoint of the merchant had to get it,
   * as the role `merchants` knows.
   */
  readonly event?: string
  /** What the other role must know of it, beyond that it exists. */
  readonly claim?: Claim | undefined
  /** Set when the other role may not have it yet, because its payment reports it: then only what it has must agree. */
  readonly is_reported?: true
  /** What is missing if the other role does not have it, in a few words. */
  readonly subject: string
}

/** What an entry of the ledger does for a payment: the credit of a deposit, a hold and its end, or a chargeback. */
export type ClaimedPosting = 'credit' | 'hold' | 'capture' | 'release' | 'debit' | 'return'

/** A fact about a payment. The role that states it has it from the payment, so the payment knows it, or more. */
export type Claim =
  | {
      readonly kind: 'entry'
      readonly entry_id: string
      readonly posting: ClaimedPosting
      /** The code with which the ledger refused the hold of a refund. It moved nothing, and its id is used. */
      readonly refused_code?: ErrorCode | undefined
      /** The reason of the entry: a restore tells a canceled withdrawal from a failed one by it (P19.13). */
      readonly reason?: string | undefined
      readonly amount: bigint
      readonly currency: string
    }
  | {
      readonly kind: 'refund'
      readonly refund_id: string
      readonly amount: bigint
      readonly currency: string
      readonly status: RefundStatus
    }
  | {
      readonly kind: 'chargeback'
      readonly chargeback_id: string
      readonly amount: bigint
      readonly currency: string
      readonly is_won: boolean
    }

/** What the lookup of a requirement came to; `different`: it exists, and does not agree with the claim. */
export type Finding = 'found' | 'missing' | 'different'
