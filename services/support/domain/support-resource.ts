import type { Environment } from '#lib/contract/environment.ts'

/** A merchant in one environment: the owner of everything that support keeps. */
export interface MerchantScope {
  readonly merchant_id: string
  readonly environment: Environment
}

/** The payment that a resource of support is about. Its identifiers never change, so the resource stores them. */
export interface PaymentReference {
  readonly payment_id: string
  readonly c_id: string
  readonly h_id: string
}

/** A file of a ticket, a comment or a chargeback. Its facts never change, so the resource stores them. */
export type AttachedFile = {
  readonly attachment_id: string
  readonly name: string
  readonly mime_type: string
  readonly size_bytes: number
  readonly created_at: Date
}

/** The longest reason or note, in characters (S7). */
export const REASON_MAX = 500

/** The longest comment, in characters (S1). */
export const COMMENT_MAX = 5_000
