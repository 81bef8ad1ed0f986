import { uuidv7 } from '#lib/base/ids.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { openCursor } from '#lib/patterns/paging/merchant-cursor.ts'
import {
  checkPageSize,
  MERCHANT_PAGE_MAX,
  type Page,
  type PageRequest,
  readPage,
} from '#lib/patterns/paging/read-page.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import type { ResourceQuery } from '../../domain/support-resource.ts'
import { withClaimed } from '../../use-cases/claim-attachments.ts'
import { type CursorPage, type CursorRequest, cursorPage } from '../../use-cases/cursor-page.ts'
import type { SupportDeps } from '../../use-cases/deps.ts'
import { type Mutation, runMutation } from '../../use-cases/mutation.ts'
import {
  type Comment,
  type CommentThread,
  type NewCommentFields,
  pendingComments,
} from '../domain/comment.ts'
import { storeComment } from '../store/comments.ts'

/** The threads of one kind, tickets or refunds, and what their comments need. */
export interface CommentDeps<T extends CommentThread> extends SupportDeps {
  readonly kind: 'ticket' | 'refund'
  readonly comments: Collection<Comment>
  idOf(thread: T): string
  /** Finds a merchant's thread. Throws when the merchant has none. */
  find(query: ResourceQuery): Promise<Stored<T>>
  /** Finds a thread of any merchant, for the operator. Throws when there is none. */
  get(thread_id: string): Promise<Stored<T>>
  /** The thread with one more comment, which an effect stores. Pure. */
  addComment(thread: T, fields: NewCommentFields, at: Date): T
  /** Changes a thread that was just found in a guarded write, and runs the effects that follow. */
  update(found: Stored<T>, change: (thread: Stored<T>, at: Date) => T | undefined): Promise<unknown>
}

/** How often other changes of the thread can come between its reading and its writing. */
const TRIES_MAX = 100

/**
 * Adds a comment to a ticket or refund, once per `comment_id`. The thread accepts it in one guarded write, which decides its
 * time; an effect of that write stores it. `find` reads the thread, `assertHeld` is that of the claim of the files. Throws
 * what `find` and `addComment` throw, and `Unavailable` after 100 changes that were faster.
 */
export async function addCommentOnce<T extends CommentThread>(
  deps: CommentDeps<T>,
  find: () => Promise<Stored<T>>,
  fields: NewCommentFields,
  assertHeld: () => void = () => {},
): Promise<Stored<Comment>> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const thread = await find()
    // Read after the thread: a comment that it had accepted before this read is pending in it or stored.
    const stored = await findComment(deps, thread, fields.comment_id)
    if (stored) return stored
    await deps.update(thread, (current, at) => {
      assertHeld()
      return current.version === thread.version ? deps.addComment(current, fields, at) : undefined
    })
  }
  throw new Unavailable(`other changes of a ticket or refund were faster ${TRIES_MAX} times; try again`)
}

/**
 * Stores the accepted comments whose effects have not run yet: whatever reads the comments of a thread does this first. A
 * comment that appears later would be before a cursor that was given out (S6).
 */
export async function storePending(comments: Collection<Comment>, thread: CommentThread): Promise<void> {
  for (const comment of pendingComments(thread)) await storeComment(comments, comment)
}

/** Reads a comment of a thread, also one that the thread has accepted but not stored yet. */
export async function findComment<T extends CommentThread>(
  { comments, idOf }: Pick<CommentDeps<T>, 'comments' | 'idOf'>,
  thread: T,
  comment_id: string,
): Promise<Stored<Comment> | undefined> {
  await storePending(comments, thread)
  const { merchant_id, environment } = thread
  return comments.get({ merchant_id, environment, thread_id: idOf(thread), comment_id })
}

/** A merchant's new comment. */
interface CommentRequest extends Mutation {
  readonly thread: ResourceQuery
  readonly body: string
  readonly attachment_ids: readonly string[]
}

/**
 * The merchant's `ticket.comment.create` and `refund.comment.create`, once per operation (S3). A repetition gets the comment
 * as it is by then. Throws 1013, 10001 or 11001 without the thread, 13001 to 13004 and 9000 for a file that cannot be used,
 * and 10003 for a closed or canceled ticket.
 */
export async function createComment<T extends CommentThread>(
  deps: CommentDeps<T>,
  request: CommentRequest,
): Promise<Stored<Comment>> {
  const find = (): Promise<Stored<T>> => deps.find(request.thread)
  const method = `${deps.kind}.comment.create` as const
  const comment_id = await runMutation(deps.idempotency, method, request, async (id) => {
    const written = { comment_id: id('comment'), author: 'merchant', body: request.body } as const
    const claim = {
      ...request,
      purpose: 'ticket_comment',
      used_by: `comment:${written.comment_id}`,
      ticket_id: deps.idOf(await find()),
    } as const
    await withClaimed(deps.attachments, claim, ({ files: attachments, assertHeld }) =>
      addCommentOnce(deps, find, { ...written, attachments, is_internal: false }, assertHeld),
    )
    return written.comment_id
  })
  const comment = await findComment(deps, await find(), comment_id)
  if (!comment) throw new Error(`the comment ${comment_id} of a finished operation is gone`)
  return comment
}

/** A comment or an internal note of the operator. An empty `operation_id` is none. */
interface Answer {
  readonly thread_id: string
  readonly body: string
  readonly is_internal: boolean
  readonly operation_id: string
}

/**
 * Adds a comment of the operator, or an internal note: once per `operation_id`, if there is one (S3). Throws 1013, 10001 or
 * 11001 without the thread, and 10003 for a comment on a closed or canceled ticket.
 */
export async function answer<T extends CommentThread>(
  deps: CommentDeps<T>,
  { thread_id, operation_id, ...payload }: Answer,
): Promise<Stored<Comment>> {
  const find = (): Promise<Stored<T>> => deps.get(thread_id)
  const add = (comment_id: string): Promise<Stored<Comment>> =>
    addCommentOnce(deps, find, { comment_id, author: 'support', attachments: [], ...payload })
  if (operation_id === '') return add(uuidv7())
  const { merchant_id, environment } = await find()
  const key = `${thread_id}:${operation_id}`
  const mutation = { merchant_id, environment, key, payload_hash: payloadHash(payload) }
  // No public method has this name, so no merchant chooses a key of it.
  const comment_id = await runMutation(deps.idempotency, `${deps.kind} answer`, mutation, async (id) => {
    await add(id('comment'))
    return id('comment')
  })
  // A repetition finds the comment that the first call has added.
  return add(comment_id)
}

/**
 * The merchant's `ticket.comments.list` and `refund.comments.list`: oldest first, without internal notes (S6). Throws 10001
 * or 11001 without the thread, and 9000 for a limit outside 1 to 100 and for a cursor of another list.
 */
export async function listComments<T extends CommentThread>(
  deps: CommentDeps<T>,
  query: ResourceQuery,
  { limit, cursor }: CursorRequest,
): Promise<CursorPage<Stored<Comment>>> {
  const size = checkPageSize(limit, MERCHANT_PAGE_MAX)
  const thread = await readThread(deps, await deps.find(query))
  const scope = { list: `${deps.kind}.comments.list`, ...thread }
  const position = openCursor(deps.keys.cursor, scope, cursor, { shown_at: 'instant', comment_id: 'text' })
  const found = await deps.comments.find(
    'by_shown',
    { equals: Object.values(thread) },
    { limit: size + 1, after: position && { ...thread, ...position } },
  )
  const positionOf = ({ created_at: shown_at, comment_id }: Comment) => ({ shown_at, comment_id })
  return cursorPage(found, size, { keyring: deps.keys.cursor, scope, positionOf })
}

/**
 * The operator's list: all comments of a thread, oldest first, `as_merchant` without the internal notes. Throws 10001 or
 * 11001.
 */
export async function listAllComments<T extends CommentThread>(
  deps: CommentDeps<T>,
  thread_id: string,
  { as_merchant = false, ...page }: PageRequest & { readonly as_merchant?: boolean },
): Promise<Page<Comment>> {
  const thread = await readThread(deps, await deps.get(thread_id))
  const list = {
    collection: deps.comments,
    index: as_merchant ? 'by_shown' : 'by_created',
    range: { equals: Object.values(thread) },
    token_scope: thread,
    position: { [as_merchant ? 'shown_at' : 'created_at']: 'instant', comment_id: 'text' },
  } as const
  return readPage<Comment>(list, page)
}

/** Stores the pending comments of a thread, and returns what all its comments share, in the order of their indexes. */
async function readThread<T extends CommentThread>(
  { comments, idOf }: CommentDeps<T>,
  thread: T,
): Promise<Pick<Comment, 'merchant_id' | 'environment' | 'thread_id'>> {
  await storePending(comments, thread)
  const { merchant_id, environment } = thread
  return { merchant_id, environment, thread_id: idOf(thread) }
}
