import { insertOrGet } from '#lib/patterns/update.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import type { Comment } from '../domain/comment.ts'

/** The collection of comments. Those of a ticket are together; their times differ, so they have one order. */
export const COMMENTS: CollectionSpec = {
  name: 'ticket_comments',
  partition: ['merchant_id', 'environment', 'ticket_id'],
  key: ['merchant_id', 'environment', 'ticket_id', 'comment_id'],
  indexes: {
    by_created: { fields: ['merchant_id', 'environment', 'ticket_id', 'created_at'] },
    by_shown: { fields: ['merchant_id', 'environment', 'ticket_id', 'shown_at'], where: 'shown_at' },
  },
}

/** The key of a comment in the store. */
type CommentKey = Pick<Comment, 'merchant_id' | 'environment' | 'ticket_id' | 'comment_id'>

/** Takes the key from a comment. */
export function keyOfComment({ merchant_id, environment, ticket_id, comment_id }: CommentKey): {
  [Field in keyof CommentKey]: string
} {
  return { merchant_id, environment, ticket_id, comment_id }
}

/** Stores a comment, unless it is stored already: then it may have been edited since. Returns it as it is stored. */
export async function storeComment(
  comments: Collection<Comment>,
  comment: Comment,
): Promise<Stored<Comment>> {
  return (await insertOrGet(comments, keyOfComment(comment), comment)).stored
}
