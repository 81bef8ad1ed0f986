import type { Collection } from '#lib/store/store.ts'
import { type Chargeback, hasEvidence } from '../chargebacks/domain/chargeback.ts'
import { keyOfChargeback } from '../chargebacks/store/chargebacks.ts'
import type { AttachedFile } from '../domain/attached-file.ts'
import type { MerchantScope } from '../domain/support-resource.ts'
import type { Comment } from '../tickets/domain/comment.ts'
import type { Ticket } from '../tickets/domain/ticket.ts'
import { keyOfComment } from '../tickets/store/comments.ts'
import { findTicketOrSuccessor } from '../tickets/store/tickets.ts'
import { storeAccepted } from '../tickets/use-cases/add-comment.ts'

/** One claim of one file, with the values of the `FileClaim` that made it. */
export interface AttachmentUse extends MerchantScope {
  readonly attachment_id: string
  /** `ticket:<id>`, `comment:<id>` or `chargeback:<id>`. */
  readonly claim_owner: string
  /** The ticket of a comment; empty for other owners. */
  readonly ticket_id: string
}

/** The collections that use files. */
export interface AttachmentUseDeps {
  readonly tickets: Collection<Ticket>
  readonly comments: Collection<Comment>
  readonly chargebacks: Collection<Chargeback>
}

/**
 * Whether the owner of a claim was stored and has the file. A ticket keeps its files permanently, even after the operator
 * has deleted it and another ticket has taken its place. An owner of a kind that this release does not know counts as
 * one that has the file, so that no file is freed by mistake. The reads are not linearizable, because the owner was stored
 * minutes ago or not at all.
 */
export async function isAttachmentUsed(deps: AttachmentUseDeps, use: AttachmentUse): Promise<boolean> {
  const { merchant_id, environment, attachment_id, claim_owner } = use
  const [, kind, id = ''] = /^([a-z]+):(.*)$/.exec(claim_owner) ?? []
  if (kind === 'ticket') {
    const ticket = await findTicketOrSuccessor(deps.tickets, { merchant_id, environment, id })
    // A call claims the files of the ticket that it stores and no others, so a ticket that was replaced had the file.
    return ticket !== undefined && (ticket.ticket_id !== id || hasFile(ticket.attachments, attachment_id))
  }
  if (kind === 'comment') return isUsedByComment(deps, use, id)
  if (kind !== 'chargeback') return true
  const chargeback = await deps.chargebacks.get(
    keyOfChargeback({ merchant_id, environment, chargeback_id: id }),
  )
  return chargeback !== undefined && hasEvidence(chargeback, attachment_id)
}

async function isUsedByComment(
  deps: AttachmentUseDeps,
  { merchant_id, environment, attachment_id, ticket_id }: AttachmentUse,
  comment_id: string,
): Promise<boolean> {
  // A claim of the previous release does not name the ticket.
  if (ticket_id === '') return true
  const ticket = await findTicketOrSuccessor(deps.tickets, { merchant_id, environment, id: ticket_id })
  if (ticket) await storeAccepted(deps, ticket)
  const comment = await deps.comments.get(keyOfComment({ merchant_id, environment, ticket_id, comment_id }))
  return hasFile(comment?.attachments, attachment_id)
}

function hasFile(files: readonly AttachedFile[] = [], attachment_id: string): boolean {
  return files.some((file) => file.attachment_id === attachment_id)
}
