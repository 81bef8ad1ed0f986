import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { type Idempotency, payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { openCursor, sealCursor } from '#lib/patterns/paging/merchant-cursor.ts'
import { checkPageSize, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection, Range, Stored } from '#lib/store/store.ts'
import { acceptOnce, type CommentStorage, storePending } from '../../use-cases/accept-comment.ts'
import type { CursorPage, CursorRequest } from '../../use-cases/list-resources.ts'
import { type Mutation, runMutation } from '../../use-cases/mutation.ts'
import type { Refund } from '../domain/refund.ts'
import {
  addRefundComment,
  type CarriedRefundComment,
  type NewRefundComment,
  type RefundComment,
  storeRefundCommentEffect,
} from '../domain/refund-comment.ts'
import { keyOfRefundComment, storeRefundComment } from '../store/refund-comments.ts'
import { keyOfRefund, type RefundQuery } from '../store/refunds.ts'
import { findRefund, getRefund } from './record-refund-change.ts'

/** What adds comments to refunds. */
interface AddRefundCommentDeps {
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
async function storeAccepted(
  { refund_comments }: Pick<AddRefundCommentDeps, 'refund_comments'>,
  refund: Refund,
): Promise<void> {
  await storePending(storageOf(refund_comments), refund)
}

function storageOf(comments: Collection<RefundComment>): CommentStorage<RefundComment, CarriedRefundComment> {
  return { effect: storeRefundCommentEffect, store: (comment) => storeRefundComment(comments, comment) }
}

/** What the lists, summaries and comments of refunds need. */
export interface RefundCommentDeps extends AddRefundCommentDeps {
  readonly refunds: Collection<Refund>
  readonly idempotency: Idempotency
  readonly keyring: Keyring
}

/** A merchant's comment. */
export interface RefundCommentRequest extends Mutation {
  readonly refund: RefundQuery
  readonly body: string
}

/** The merchant's `refund.comment.create`, once per operation (S3). Throws 1013, and 11001 for a refund that it does not have. */
export async function commentRefund(
  deps: RefundCommentDeps,
  request: RefundCommentRequest,
): Promise<Stored<RefundComment>> {
  const find = (): Promise<Stored<Refund>> => findRefund(deps.refunds, request.refund)
  const comment_id = await runMutation(deps.idempotency, 'refund.comment.create', request, async (id) => {
    const written = { comment_id: id('comment'), author: 'merchant', body: request.body } as const
    await acceptRefundComment(deps, find, written)
    return written.comment_id
  })
  const refund = await find()
  await storeAccepted(deps, refund)
  const { merchant_id, environment, refund_id } = refund
  const key = keyOfRefundComment({ merchant_id, environment, refund_id, comment_id })
  const comment = await deps.refund_comments.get(key)
  if (!comment) throw new Error(`the comment ${comment_id} of a finished operation is gone`)
  return comment
}

/** The operator's answer to a refund. An empty `operation_id` is none. */
interface RefundAnswer {
  readonly refund_id: string
  readonly body: string
  readonly operation_id: string
}

/**
 * The operator's answer, which the merchant sees: once per `operation_id`, if there is one (S3). Throws 11001 for an unknown
 * refund, and 1013 for an `operation_id` of another answer.
 */
export async function answerRefund(
  deps: RefundCommentDeps,
  { refund_id, body, operation_id }: RefundAnswer,
): Promise<Stored<RefundComment>> {
  const find = (): Promise<Stored<Refund>> => getRefund(deps.refunds, refund_id)
  const accept = (comment_id: string): Promise<Stored<RefundComment>> =>
    acceptRefundComment(deps, find, { comment_id, author: 'support', body })
  if (operation_id === '') return accept(uuidv7())
  const { merchant_id, environment } = await find()
  // The name of an RPC cannot equal that of a public method, whose keys merchants choose.
  const key = { merchant_id, environment, method: 'AnswerRefund', key: `${refund_id}:${operation_id}` }
  const result = await deps.idempotency.run(key, payloadHash({ body }), async (id) => {
    await accept(id('comment'))
    return Buffer.from(id('comment'))
  })
  // A repetition finds the comment that the first call has added.
  return accept(Buffer.from(result).toString())
}

/**
 * The merchant's `refund.comments.list`: oldest first (S6). Throws 11001, and 9000 for a limit outside 1 to 100 and for a cursor
 * of another list.
 */
export async function listRefundComments(
  deps: RefundCommentDeps,
  query: RefundQuery,
  { limit, cursor }: CursorRequest,
): Promise<CursorPage<Stored<RefundComment>>> {
  const size = checkPageSize(limit)
  const refund = await findRefund(deps.refunds, query)
  await storeAccepted(deps, refund)
  const { merchant_id, environment, refund_id } = refund
  const owner = { merchant_id, environment, refund_id }
  const scope = { list: 'refund.comments.list', ...owner }
  const position = openCursor(deps.keyring, scope, cursor, { created_at: 'instant', comment_id: 'text' })
  const found = await deps.refund_comments.find('by_created', rangeOf(owner), {
    limit: size + 1,
    ...(position ? { after: { ...owner, ...position } } : {}),
  })
  const items = found.slice(0, size)
  const last = found.length > size ? items.at(-1) : undefined
  if (!last) return { items, next_cursor: '' }
  const { created_at, comment_id } = last
  return { items, next_cursor: sealCursor(deps.keyring, scope, { created_at, comment_id }) }
}

/** The operator's list of the comments of a refund, oldest first. Throws 11001 for an unknown refund. */
export async function listAllRefundComments(
  deps: RefundCommentDeps,
  id: string,
  page: PageRequest,
): Promise<{ readonly items: readonly Stored<RefundComment>[]; readonly next_page_token: string }> {
  const refund = await getRefund(deps.refunds, id)
  await storeAccepted(deps, refund)
  const { merchant_id, environment, refund_id } = refund
  const owner = { merchant_id, environment, refund_id }
  return readPage<RefundComment>(
    {
      collection: deps.refund_comments,
      index: 'by_created',
      range: rangeOf(owner),
      token_scope: owner,
      position: { created_at: 'instant', comment_id: 'text' },
    },
    page,
  )
}

function rangeOf({
  merchant_id,
  environment,
  refund_id,
}: Pick<RefundComment, 'merchant_id' | 'environment' | 'refund_id'>): Range {
  return { equals: [merchant_id, environment, refund_id] }
}
