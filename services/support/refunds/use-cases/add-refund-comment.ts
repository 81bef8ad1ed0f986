import { now } from '#lib/base/time.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { acceptOnce, type CommentStorage, storePending } from '../../use-cases/accept-comment.ts'
import type { Refund } from '../domain/refund.ts'
import {
  addRefundComment,
  type CarriedRefundComment,
  type NewRefundComment,
  type RefundComment,
  storeRefundCommentEffect,
} from '../domain/refund-comment.ts'
import { keyOfRefundComment, storeRefundComment } from '../store/refund-comments.ts'
import { keyOfRefund } from '../store/refunds.ts'

/** What adds comments to refunds. */
export interface AddRefundCommentDeps {
  readonly refund_comments: Collection<RefundComment>
  readonly runner: EffectRunner<Refund>
}

/**
 * Adds a comment to a refund, once per `comment_id`: the refund accepts it in one guarded write, and an effect of that write
 * stores it. `find` reads the refund, and throws 11001 when there is none.
 */
export function acceptRefundComment(
  { refund_comments, runner }: AddRefundCommentDeps,
  find: () => Promise<Stored<Refund>>,
  written: NewRefundComment,
): Promise<Stored<RefundComment>> {
  const { comment_id } = written
  return acceptOnce(storageOf(refund_comments), {
    comment_id,
    find,
    read: ({ merchant_id, environment, refund_id }) =>
      refund_comments.get(keyOfRefundComment({ merchant_id, environment, refund_id, comment_id })),
    async accept(refund) {
      const stored = await runner.update(
        keyOfRefund(refund),
        (current) =>
          current.version === refund.version ? addRefundComment(current, written, now()) : undefined,
        refund,
      )
      if (stored) await runner.runEffects(stored)
    },
  })
}

/** Stores the accepted comments of a refund whose effects have not run yet: whatever reads its comments does this first. */
export async function storeAccepted(
  { refund_comments }: Pick<AddRefundCommentDeps, 'refund_comments'>,
  refund: Refund,
): Promise<void> {
  await storePending(storageOf(refund_comments), refund)
}

function storageOf(comments: Collection<RefundComment>): CommentStorage<RefundComment, CarriedRefundComment> {
  return { effect: storeRefundCommentEffect, store: (comment) => storeRefundComment(comments, comment) }
}
