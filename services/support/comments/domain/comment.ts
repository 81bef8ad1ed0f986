import type { Environment } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { defineEffect } from '#lib/patterns/effects/define-effect.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import { erasedText, withoutName } from '../../domain/erasure.ts'
import { type AttachedFile, isEditable } from '../../domain/support-resource.ts'

/** A comment on a ticket or a refund, as it is stored. */
export type Comment = {
  readonly merchant_id: string
  readonly environment: Environment
  /** The id of its ticket or refund. */
  readonly thread_id: string
  /** Its public `h_id`. */
  readonly comment_id: string
  /** The side that wrote it. Nothing stored says which person it was. */
  readonly author: 'merchant' | 'support'
  readonly body: string
  readonly attachments: readonly AttachedFile[]
  readonly created_at: Date
  readonly updated_at: Date
  /** The creation, in a comment that the merchant sees. An internal note has none. */
  readonly shown_at?: Date | undefined
  /** The ids of the operations that edited it, so that none of them acts twice. */
  readonly edits: readonly string[]
}

/** A ticket or a refund, which accepts comments one after the other. */
export interface CommentThread extends EffectDocument, MerchantScope {
  /** The time of its newest comment. Its comments have different times, so that they have one order (S6). */
  readonly last_comment_at?: Date
}

/** What a side decides about a new comment. */
export interface NewCommentFields extends Pick<Comment, 'comment_id' | 'author' | 'body' | 'attachments'> {
  /** An internal note, which no merchant sees. */
  readonly is_internal: boolean
}

/** The effect that stores a comment which its ticket or refund has accepted. */
export const storeCommentEffect = defineEffect({
  kind: 'store_comment',
  lane: 'independent',
  data: { comment: isComment },
  id: (_thread: unknown, { comment }) => `${comment.comment_id}:store`,
})

function isComment(value: unknown): value is Comment {
  return typeof value === 'object' && value !== null && 'comment_id' in value && 'created_at' in value
}

/** Effects accumulate while the bus or the notifier is unavailable. This limit keeps the document of a thread small. */
const WAITING_MAX = 500

/**
 * The thread with one more comment, and the id of the effect that stores it. The comment is later than the newest one, also
 * of a process whose clock was ahead. Throws `Unavailable` while 500 effects of the thread wait.
 */
export function acceptComment<T extends CommentThread>(
  thread: T,
  thread_id: string,
  { is_internal, ...fields }: NewCommentFields,
  at: Date,
): { readonly accepted: T; readonly comment: Comment; readonly effect_id: string } {
  if (thread.effects.length >= WAITING_MAX)
    throw new Unavailable('too many effects of a ticket or refund wait; check the bus and the notifier')
  const { merchant_id, environment, last_comment_at } = thread
  const created_at = new Date(Math.max(at.getTime(), (last_comment_at?.getTime() ?? 0) + 1))
  const comment: Comment = {
    merchant_id,
    environment,
    thread_id,
    ...fields,
    created_at,
    updated_at: created_at,
    edits: [],
    shown_at: is_internal ? undefined : created_at,
  }
  const store = storeCommentEffect.newEffect(thread, { comment }, { at })
  const accepted = { ...thread, last_comment_at: created_at, effects: [...thread.effects, store] }
  return { accepted, comment, effect_id: store.id }
}

/** The comments that a ticket or refund has accepted and whose effects have not run yet. */
export function pendingComments({ effects }: CommentThread): readonly Comment[] {
  return effects.flatMap((effect) => storeCommentEffect.dataOf(effect)?.comment ?? [])
}

/**
 * The comment of a ticket with a new text; `undefined` when the operation has acted before. Throws 10003 for a comment of
 * the operator, and 10004 when the hour for edits is over, or after 100 of them (S4).
 */
export function editComment(
  comment: Comment,
  body: string,
  operation_id: string,
  at: Date,
): Comment | undefined {
  if (comment.author !== 'merchant') throw new PublicError(10003)
  if (comment.edits.includes(operation_id)) return undefined
  if (!isEditable(comment, at)) throw new PublicError(10004)
  return { ...comment, body, updated_at: at, edits: [...comment.edits, operation_id] }
}

/** The comment without its text and the names of its files (O11). Pure. */
export function eraseComment(comment: Comment): Comment {
  return { ...comment, body: erasedText(comment.body), attachments: comment.attachments.map(withoutName) }
}
