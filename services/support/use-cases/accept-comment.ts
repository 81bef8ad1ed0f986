import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Stored } from '#lib/store/store.ts'
import {
  type CarriedComment,
  type CommentThread,
  pendingComments,
  type StoreCommentEffect,
} from '../domain/comment-thread.ts'

/** How often other changes of the resource can come between its reading and its writing. */
const TRIES_MAX = 100

/** How the comments of one kind of resource are stored. */
export interface CommentStorage<Comment, C extends CarriedComment & Comment> {
  readonly effect: StoreCommentEffect<C>
  /** Stores a comment, unless it is stored already: then it may have been edited since. Returns it as it is stored. */
  store(comment: Comment): Promise<Stored<Comment>>
}

/** One comment that a ticket or refund is to accept. */
export interface NewComment<D extends CommentThread, Comment> {
  readonly comment_id: string
  /** Reads the resource. Throws when there is none. */
  find(): Promise<Stored<D>>
  read(resource: D): Promise<Stored<Comment> | undefined>
  /** Changes the resource, if it is still the one that was read, so that it has the comment and its effect. */
  accept(resource: Stored<D>): Promise<unknown>
}

/**
 * Adds a comment to a ticket or refund, once per `comment_id`. The resource accepts it in one guarded write, which decides
 * its time; an effect of that write stores it. Throws what `find` and `accept` throw, and `Unavailable` after 100 changes
 * that were faster.
 */
export async function acceptOnce<D extends CommentThread, Comment, C extends CarriedComment & Comment>(
  storage: CommentStorage<Comment, C>,
  { comment_id, find, read, accept }: NewComment<D, Comment>,
): Promise<Stored<Comment>> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const resource = await find()
    // Read after the resource: a comment that it had accepted before this read is pending in it or stored.
    const stored = (await storePending(storage, resource, comment_id)) ?? (await read(resource))
    if (stored) return stored
    await accept(resource)
  }
  throw new Unavailable(`other changes of a ticket or refund were faster ${TRIES_MAX} times; try again`)
}

/**
 * Stores the accepted comments whose effects have not run yet, so that a list shows every comment that it must show: one
 * that appears later would be before a cursor that was given out (S6). Returns the one with `comment_id`, if it was among
 * them.
 */
export async function storePending<Comment, C extends CarriedComment & Comment>(
  { effect, store }: CommentStorage<Comment, C>,
  resource: CommentThread,
  comment_id?: string,
): Promise<Stored<Comment> | undefined> {
  let wanted: Stored<Comment> | undefined
  for (const comment of pendingComments(effect, resource)) {
    const stored = await store(comment)
    if (comment.comment_id === comment_id) wanted = stored
  }
  return wanted
}
