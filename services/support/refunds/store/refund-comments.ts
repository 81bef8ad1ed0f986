import { insertOrGet } from '#lib/patterns/update.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import type { RefundComment } from '../domain/refund-comment.ts'

/** The collection of comments on refunds. Those of a refund are together, oldest first (S6). Their times differ. */
export const REFUND_COMMENTS: CollectionSpec = {
  name: 'refund_comments',
  partition: ['merchant_id', 'environment', 'refund_id'],
  key: ['merchant_id', 'environment', 'refund_id', 'comment_id'],
  indexes: { by_created: { fields: ['merchant_id', 'environment', 'refund_id', 'created_at'] } },
}

/** Takes the key from a comment. */
export function keyOfRefundComment({
  merchant_id,
  environment,
  refund_id,
  comment_id,
}: Pick<RefundComment, 'merchant_id' | 'environment' | 'refund_id' | 'comment_id'>): Readonly<
  Record<'merchant_id' | 'environment' | 'refund_id' | 'comment_id', string>
> {
  return { merchant_id, environment, refund_id, comment_id }
}

/** Stores a comment, unless it is stored already. Returns it as it is stored. */
export async function storeRefundComment(
  comments: Collection<RefundComment>,
  comment: RefundComment,
): Promise<Stored<RefundComment>> {
  return (await insertOrGet(comments, keyOfRefundComment(comment), comment)).stored
}
