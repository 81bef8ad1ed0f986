import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { STORE_EFFECT_LIMITS } from '../../effects/store-effect-limits.ts'
import type { Comment } from '../domain/comment.ts'
import type { Ticket } from '../domain/ticket.ts'
import { storeCommentEffect } from '../domain/ticket-effects.ts'
import { storeComment } from '../store/comments.ts'

/** Stores the comment that the ticket has accepted. A comment that is stored already stays as it is. */
export function bindStoreComment(comments: Collection<Comment>): BoundEffect<Ticket> {
  return storeCommentEffect.bind<Ticket>({
    ...STORE_EFFECT_LIMITS,
    async run({ data }) {
      await storeComment(comments, data.comment)
      return (current) => current
    },
  })
}
