import type { Owner } from '../../domain/support-resource.ts'

/** A comment on a refund, as it is stored. It never changes. */
export interface RefundComment extends Owner {
  readonly refund_id: string
  /** Its public `h_id`. */
  readonly comment_id: string
  /** The side that wrote it. Nothing stored says which person it was. */
  readonly author: 'merchant' | 'support'
  readonly body: string
  readonly created_at: Date
}
