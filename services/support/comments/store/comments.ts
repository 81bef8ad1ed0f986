import { insertOrGet } from '#lib/patterns/update.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import type { Comment } from '../domain/comment.ts'

/** The collection of comments on tickets. */
export const TICKET_COMMENTS = commentsSpec('ticket_comments')

/** The collection of comments on refunds. */
export const REFUND_COMMENTS = commentsSpec('refund_comments')

/** Those of a ticket or refund are together; their times differ, so they have one order (S6). */
function commentsSpec(name: string) {
  const thread = ['merchant_id', 'environment', 'thread_id'] as const
  return {
    name,
    partition: thread,
    key: [...thread, 'comment_id'],
    indexes: {
      by_created: { fields: [...thread, 'created_at'] },
      by_shown: { fields: [...thread, 'shown_at'], where: 'shown_at' },
    },
  } as const satisfies CollectionSpec
}

/** Takes the key from a comment. */
export const keyOfComment = keyOf(TICKET_COMMENTS)

/** Stores a comment, unless it is stored already: then it may have been edited since. Returns it as it is stored. */
export async function storeComment(
  comments: Collection<Comment>,
  comment: Comment,
): Promise<Stored<Comment>> {
  return (await insertOrGet(comments, keyOfComment(comment), comment)).stored
}
