import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { newCommentTime } from '../../domain/comment-thread.ts'
import { type Comment, storeCommentEffect } from './comment.ts'
import { isEditable, type Ticket, takesComments } from './ticket.ts'
import { announce } from './ticket-event.ts'

/** What a side decides about a new comment. */
export interface NewCommentFields extends Pick<Comment, 'comment_id' | 'author' | 'body' | 'attachments'> {
  /** An internal note, which no merchant sees. */
  readonly is_internal: boolean
}

/** The effects of a ticket accumulate while the bus or the notifier is unavailable. This limit keeps its document small. */
const WAITING_MAX = 500

/**
 * The ticket with one more comment, which an effect stores. A comment of the merchant moves a ticket that waits for it to
 * `in_progress` (S4). The merchant sees nothing of an internal note. Throws 10003 for a comment on a closed or canceled
 * ticket, but not for a note, and `Unavailable` while 500 of its effects wait.
 */
export function addComment(ticket: Ticket, fields: NewCommentFields, at: Date): Ticket {
  const { author, is_internal } = fields
  if (!is_internal && !takesComments(ticket.status)) throw new PublicError(10003)
  if (ticket.effects.length >= WAITING_MAX)
    throw new Unavailable('too many events of this ticket wait; check the bus and the notifier')
  const comment = newComment(ticket, fields, at)
  const carried = { ...comment, edits: [], attachments: [...comment.attachments] }
  const store = storeCommentEffect.newEffect(ticket, { comment: carried }, { at })
  const accepted: Ticket = {
    ...ticket,
    last_comment_at: comment.created_at,
    ...(is_internal ? {} : { last_activity_at: at }),
    effects: [...ticket.effects, store],
  }
  if (is_internal) return accepted
  const answers = author === 'merchant' && ticket.status === 'waiting_customer'
  const moved: Ticket = answers ? { ...accepted, status: 'in_progress', updated_at: at } : accepted
  const announced = announce(moved, { event: 'ticket.comment.created', at, comment, after: store.id })
  return answers ? announce(announced, { event: 'ticket.status_changed', at }) : announced
}

/** The comment with its time. */
function newComment(ticket: Ticket, fields: NewCommentFields, at: Date): Comment {
  const { comment_id, author, body, attachments, is_internal } = fields
  const { merchant_id, environment, ticket_id } = ticket
  const created_at = newCommentTime(ticket, at)
  return {
    merchant_id,
    environment,
    ticket_id,
    comment_id,
    author,
    body,
    attachments,
    created_at,
    updated_at: created_at,
    edits: [],
    ...(is_internal ? {} : { shown_at: created_at }),
  }
}

/**
 * The comment with a new text; `undefined` when the operation has acted before. Throws 10003 for a comment of the operator,
 * and 10004 when the hour for edits is over, or after 100 of them.
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
