import type { Client } from '@connectrpc/connect'
import type { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { update } from '#lib/patterns/update.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Comment } from '../../comments/domain/comment.ts'
import { keyOfComment } from '../../comments/store/comments.ts'
import { eraseComment, eraseThreadEffect } from '../domain/erase-ticket.ts'
import type { Ticket } from '../domain/ticket.ts'

/** What erasing a thread needs. */
interface EraseThreadDeps {
  readonly comments: Collection<Comment>
  readonly attachments: Pick<Client<typeof AttachmentService>, 'eraseAttachments'>
}

const PAGE = 100
const CALL = { timeoutMs: 10_000 }
/** It fails only while the store or the attachments service is unavailable, so it is repeated for days. */
const LIMITS = { lease_ms: 30_000, tries_max: 3_000, backoff: { first_ms: 1_000, max_ms: 300_000 } }

/**
 * Erases the comments of an erased ticket, those of the deleted tickets whose place it took too, and all their files. The ids of the
 * files stay, so that a repetition after a crash finds them.
 */
export function bindEraseThread({ comments, attachments }: EraseThreadDeps): BoundEffect<Ticket> {
  return eraseThreadEffect.bind<Ticket>({
    ...LIMITS,
    async run(_effect, ticket) {
      const { merchant_id, environment, ticket_id, replaced_ticket_ids = [] } = ticket
      const eraseFiles = async (files: Ticket['attachments']): Promise<void> => {
        const attachmentIds = files.map(({ attachment_id }) => attachment_id)
        if (attachmentIds.length > 0)
          await attachments.eraseAttachments({ ...scopeToProto(ticket), attachmentIds }, CALL)
      }
      await eraseFiles(ticket.attachments)
      for (const thread_id of [ticket_id, ...replaced_ticket_ids]) {
        let after: Comment | undefined
        do {
          const range = { equals: [merchant_id, environment, thread_id] }
          const page: readonly Comment[] = await comments.find('key', range, { limit: PAGE, after })
          for (const comment of page) {
            await update(comments, keyOfComment(comment), eraseComment)
            await eraseFiles(comment.attachments)
          }
          after = page.at(-1)
        } while (after)
      }
      return (current) => current
    },
  })
}
