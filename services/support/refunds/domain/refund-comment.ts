import { defineStoreComment, newCommentTime } from '../../domain/comment-thread.ts'
import type { MerchantScope } from '../../domain/support-resource.ts'
import type { Refund } from './refund.ts'

/** A comment on a refund, as it is stored. It never changes. */
export interface RefundComment extends MerchantScope {
  readonly refund_id: string
  /** Its public `h_id`. */
  readonly comment_id: string
  /** The side that wrote it. Nothing stored says which person it was. */
  readonly author: 'merchant' | 'support'
  readonly body: string
  readonly created_at: Date
}

/** The fields of a new comment that its writer decides. */
export type NewRefundComment = Pick<RefundComment, 'comment_id' | 'author' | 'body'>

/**
 * A comment as an effect carries it: a type alias, because an interface does not fit the index signature of stored
 * data.
 */
export type CarriedRefundComment = { [Field in keyof RefundComment]: RefundComment[Field] }

/** The effect that stores a comment which its refund has accepted. */
export const storeRefundCommentEffect = defineStoreComment<CarriedRefundComment>()

/** The refund with one more comment, which an effect stores. */
export function addRefundComment(refund: Refund, written: NewRefundComment, at: Date): Refund {
  const { merchant_id, environment, refund_id } = refund
  const created_at = newCommentTime(refund, at)
  const comment = { merchant_id, environment, refund_id, ...written, created_at }
  const store = storeRefundCommentEffect.newEffect(refund, { comment }, { at })
  return { ...refund, last_comment_at: created_at, effects: [...refund.effects, store] }
}
