import { insertOrGet } from '#lib/patterns/update.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import type { RefundComment } from '../domain/refund-comment.ts'

/** The collection of comments on refunds. Those of a refund are together, oldest first (S6). Their times differ. */
export const REFUND_COMMENTS = {
  name: 'refund_comments',
  partition: ['merchant_id', 'environment', 'refund_id'],
  key: ['merchant_id', 'environment', 'refund_id', 'comment_id'],
  indexes: { by_created: { fields: ['merchant_id', 'environment', 'refund_id', 'created_at'] } },
} as const satisfies CollectionSpec

/** Takes the key from a comment or from a request that names one. */
export const keyOfRefundComment = keyOf(REFUND_COMMENTS)

/** Stores a comment, unless it is stored already. Returns it as it is stored. */
export async function storeRefundComment(
  comments: Collection<RefundComment>,
  comment: RefundComment,
): Promise<Stored<RefundComment>> {
  return (await insertOrGet(comments, keyOfRefundComment(comment), comment)).stored
}
