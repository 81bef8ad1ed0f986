import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { Collection } from '#lib/store/store.ts'
import { type Comment, storeCommentEffect } from '../domain/comment.ts'
import { storeComment } from '../store/comments.ts'

/** Stores the comment that a ticket or refund has accepted. A comment that is stored already stays as it is. */
export function bindStoreComment<D extends EffectDocument>(comments: Collection<Comment>): BoundEffect<D> {
  return storeCommentEffect.bind<D>({
    lease_ms: 5_000,
    // It fails only while the store of this service is unavailable, so it is repeated for days before it waits for the operator.
    tries_max: 20_000,
    backoff: { first_ms: 1_000, max_ms: 30_000 },
    async run({ data }) {
      await storeComment(comments, data.comment)
      return (current) => current
    },
  })
}
