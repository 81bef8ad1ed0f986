import { PublicError } from '#lib/contract/errors/public-error.ts'
import { defineEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Comment } from '../../comments/domain/comment.ts'
import type { AttachedFile } from '../../domain/support-resource.ts'
import { type Ticket, withListing } from './ticket.ts'

/** What stands in the place of an erased text. */
const ERASED = '[erased]'

/** The effect that erases the comments of an erased ticket, and all its files. */
export const eraseThreadEffect = defineEffect({
  kind: 'erase_thread',
  lane: 'independent',
  data: {},
  id: ({ ticket_id, erased_at }: Ticket) => `${ticket_id}:erase:${erased_at?.getTime()}`,
})

/**
 * The ticket without its texts and the names of its files (O11). Ids, categories, statuses and times stay. Throws 8801 while effects
 * wait: they carry texts too. Pure.
 */
export function eraseTicket(ticket: Ticket, at: Date): Ticket {
  if (ticket.effects.length > 0)
    throw new PublicError(8801, {
      details: { description: 'ticket_id', reason: 'its effects must end first' },
    })
  const erased: Ticket = {
    ...ticket,
    title: ERASED,
    description: ERASED,
    attachments: ticket.attachments.map(withoutName),
    erased_at: at,
    is_to_be_erased: undefined,
  }
  return withListing({ ...erased, effects: [eraseThreadEffect.newEffect(erased, {}, { at })] })
}

/** The comment without its text and the names of its files; `undefined` when it is so already. Pure. */
export function eraseComment(comment: Comment): Comment | undefined {
  if (comment.body === ERASED) return undefined
  return { ...comment, body: ERASED, attachments: comment.attachments.map(withoutName) }
}

function withoutName(file: AttachedFile): AttachedFile {
  return { ...file, name: ERASED }
}
