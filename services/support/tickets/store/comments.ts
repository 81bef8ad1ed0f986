import { insertOrGet } from '#lib/patterns/update.ts'
import { keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import type { Comment } from '../domain/comment.ts'

/** The collection of comments. Those of a ticket are together; their times differ, so they have one order. */
export const COMMENTS = {
  name: 'ticket_comments',
  partition: ['merchant_id', 'environment', 'ticket_id'],
  key: ['merchant_id', 'environment', 'ticket_id', 'comment_id'],
  indexes: {
    by_created: { fields: ['merchant_id', 'environment', 'ticket_id', 'created_at'] },
    by_shown: { fields: ['merchant_id', 'environment', 'ticket_id', 'shown_at'], where: 'shown_at' },
  },
} as const satisfies CollectionSpec

/** Takes the key from a comment or from a request that names one. */
export const keyOfComment = keyOf(COMMENTS)

/** Stores a comment, unless it is stored already: then it may have been edited since. Returns it as it is stored. */
export async function storeComment(
  comments: Collection<Comment>,
  comment: Comment,
): Promise<Stored<Comment>> {
  return (await insertOrGet(comments, keyOfComment(comment), comment)).stored
}
