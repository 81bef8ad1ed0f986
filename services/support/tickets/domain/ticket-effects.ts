import { defineEffect, isInstant, isText } from '#lib/patterns/effects/define-effect.ts'
import { isComment } from './comment.ts'
import type { Ticket } from './ticket.ts'

type TicketIdentity = Pick<Ticket, 'ticket_id'>

/** The effect that stores a comment which its ticket has accepted. */
export const storeCommentEffect = defineEffect({
  kind: 'store_comment',
  lane: 'independent',
  data: { comment: isComment },
  id: (_ticket: TicketIdentity, { comment }) => `${comment.comment_id}:store`,
})

/** A change of status of a ticket, a refund or a chargeback, by the id of the resource and its number. */
interface CountedTransition {
  readonly resource_id: string
  readonly transition_number: number
}

/**
 * The effect that counts a change of status (S11): one resource less in `from`, one more in `to`. An empty text means no
 * status: before the creation and after the deletion.
 */
export const countStatusEffect = defineEffect({
  kind: 'count_status',
  lane: 'independent',
  data: { from: isText, to: isText, created_at: isInstant },
  id: ({ resource_id, transition_number }: CountedTransition) => `${resource_id}:${transition_number}:count`,
})

/** The effect that removes the mark of a counted change, which no longer waits in its resource. It runs in the background. */
export const forgetCountEffect = defineEffect({
  kind: 'forget_count',
  lane: 'event',
  data: { counted: isText, created_at: isInstant },
  id: (_resource: unknown, { counted }) => `${counted}:forget`,
})
