import { defineEffect } from '#lib/patterns/effects/define-effect.ts'
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
