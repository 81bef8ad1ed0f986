import { defineEffect, type EffectDefinition } from '#lib/patterns/effects/define-effect.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import type { Value } from '#lib/store/store.ts'

/** A ticket or a refund, which accepts comments one after the other. */
export interface CommentThread extends EffectDocument {
  /** The time of its newest comment. Its comments have different times, so that they have one order (S6). */
  readonly last_comment_at?: Date
}

/** A comment as an effect carries it. */
export type CarriedComment = { [field: string]: Value | undefined } & { comment_id: string; created_at: Date }

/** The effect that stores a comment which its ticket or refund has accepted. */
export type StoreCommentEffect<C extends CarriedComment> = EffectDefinition<unknown, { readonly comment: C }>

/** Defines the effect for the comments of one kind of resource. */
export function defineStoreComment<C extends CarriedComment>(): StoreCommentEffect<C> {
  return defineEffect({
    kind: 'store_comment',
    lane: 'independent',
    data: { comment: (value: unknown): value is C => isComment(value) },
    id: (_resource: unknown, { comment }) => `${comment.comment_id}:store`,
  })
}

function isComment(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'comment_id' in value && 'created_at' in value
}

/** The time of a new comment: later than that of the newest one, also of a process whose clock was ahead. */
export function newCommentTime({ last_comment_at }: CommentThread, at: Date): Date {
  return new Date(Math.max(at.getTime(), (last_comment_at?.getTime() ?? 0) + 1))
}

/** The comments that a ticket or refund has accepted and whose effects have not run yet. */
export function pendingComments<C extends CarriedComment>(
  effect: StoreCommentEffect<C>,
  { effects }: CommentThread,
): readonly C[] {
  return effects.flatMap((one) => effect.dataOf(one)?.comment ?? [])
}
