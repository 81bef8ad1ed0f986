import type { CollectionSpec } from '#lib/platform/store/store.ts'
import type { RefundComment } from '../domain/refund-comment.ts'

/** The collection of comments on refunds. Those of a refund are together, oldest first (S6). */
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
