import type { Client } from '@connectrpc/connect'
import type { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { type MerchantScope, scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { MethodName } from '#lib/contract/methods.ts'
import type { Idempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { type EndingDocuments, startTestRetention, type TestRetention } from '#lib/patterns/test-retention.ts'
import { deleteUnchanged } from '#lib/patterns/update.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { chargebackEndedSince } from './chargebacks/domain/chargeback.ts'
import { CHARGEBACKS } from './chargebacks/store/chargebacks.ts'
import type { Comment } from './comments/domain/comment.ts'
import { keyOfComment } from './comments/store/comments.ts'
import { type Erasable, hasEnded } from './domain/erasure.ts'
import type { AttachedFile } from './domain/support-resource.ts'
import { refundEndedSince } from './refunds/domain/refund.ts'
import { REFUNDS } from './refunds/store/refunds.ts'
import type { SupportStore } from './store/support-store.ts'
import { ticketEndedSince } from './tickets/domain/erase-ticket.ts'
import { TICKETS } from './tickets/store/tickets.ts'

/** What deleting resources needs. */
export interface EndResourcesDeps extends TestRetention {
  readonly attachments: Pick<Client<typeof AttachmentService>, 'eraseAttachments'>
  readonly idempotency: Pick<Idempotency, 'forget'>
}

/** The methods whose `c_id` is free again when what they made is deleted. */
export const LASTING_METHODS = ['ticket.create', 'refund.request'] as const satisfies readonly MethodName[]

/** What a merchant has named by a `c_id` of its own. */
interface NamedResource extends MerchantScope {
  readonly c_id: string
  readonly test_ended_at?: Date | undefined
}

const CALL = { timeoutMs: 10_000 }
const NEVER = new Date(0)
/** More than the clocks of two processes differ by, and far less than the shortest retention. */
const CLOCKS_DIFFER_MS = 3_600_000
const PAGE = 100

/**
 * Deletes tickets, refunds and chargebacks of the test environment that have ended, with their comments and files (O25). Their
 * payments end by themselves, so each can be without the other for a while. `stop` waits for the walks.
 */
export function startTestRetentionOfSupport(
  { tickets, ticket_comments, refunds, refund_comments, chargebacks }: SupportStore,
  { attachments, idempotency, ...retention }: EndResourcesDeps,
): { stop(): Promise<void> } {
  const deleteFiles = async (scope: MerchantScope, files: readonly AttachedFile[]): Promise<void> => {
    const attachmentIds = files.map(({ attachment_id }) => attachment_id)
    if (attachmentIds.length > 0)
      await attachments.eraseAttachments({ ...scopeToProto(scope), attachmentIds }, CALL)
  }
  const deleteThread = (comments: Collection<Comment>, scope: MerchantScope, id: string) =>
    deleteComments(comments, scope, id, (files) => deleteFiles(scope, files))
  const freeKey = (
    { merchant_id, environment, c_id, test_ended_at = NEVER }: NamedResource,
    method: (typeof LASTING_METHODS)[number],
  ): Promise<void> => {
    const made_by = new Date(test_ended_at.getTime() + CLOCKS_DIFFER_MS)
    return idempotency.forget({ merchant_id, environment, method, key: c_id }, made_by)
  }
  const walks = [
    startTestRetention(
      {
        ...ending(TICKETS, tickets, ticketEndedSince),
        async deleteRest(ticket) {
          await deleteFiles(ticket, ticket.attachments)
          for (const id of [ticket.ticket_id, ...(ticket.replaced_ticket_ids ?? [])])
            await deleteThread(ticket_comments, ticket, id)
          await freeKey(ticket, 'ticket.create')
        },
      },
      retention,
    ),
    startTestRetention(
      {
        ...ending(REFUNDS, refunds, refundEndedSince),
        async deleteRest(refund) {
          await deleteThread(refund_comments, refund, refund.refund_id)
          await freeKey(refund, 'refund.request')
        },
      },
      retention,
    ),
    startTestRetention(
      {
        ...ending(CHARGEBACKS, chargebacks, chargebackEndedSince),
        deleteRest: (chargeback) => deleteFiles(chargeback, chargeback.evidence),
      },
      retention,
    ),
  ]
  return {
    async stop() {
      await Promise.all(walks.map((walk) => walk.stop()))
    },
  }
}

function ending<D extends Erasable & MerchantScope>(
  spec: EndingDocuments<D>['spec'],
  collection: Collection<D>,
  endedSince: (resource: D) => Date | undefined,
): EndingDocuments<D> {
  return { spec, collection, hasEnded: (resource) => hasEnded(resource, endedSince(resource)) }
}

/** Deletes the comments of a ticket or refund of the test environment, each after its files. */
async function deleteComments(
  comments: Collection<Comment>,
  { merchant_id, environment }: MerchantScope,
  thread_id: string,
  deleteFiles: (files: readonly AttachedFile[]) => Promise<void>,
): Promise<void> {
  const range = { equals: [merchant_id, environment, thread_id] }
  let page: readonly Stored<Comment>[]
  do {
    page = await comments.find('key', range, { limit: PAGE })
    for (const comment of page) {
      await deleteFiles(comment.attachments)
      await deleteUnchanged(comments, keyOfComment(comment), comment.version)
    }
  } while (page.length === PAGE)
}
