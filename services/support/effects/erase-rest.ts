import type { Client } from '@connectrpc/connect'
import type { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import type { DeliveryErasureService } from '#gen/multihub/notifier/v1/delivery_erasure_service_pb.ts'
import { type MerchantScope, scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { update } from '#lib/patterns/update.ts'
import type { Collection } from '#lib/store/store.ts'
import { type Comment, eraseComment } from '../comments/domain/comment.ts'
import { keyOfComment } from '../comments/store/comments.ts'
import { type Erasable, eraseRestEffect } from '../domain/erasure.ts'
import type { AttachedFile } from '../domain/support-resource.ts'

/** The owners of what an erased resource has elsewhere. */
export interface ErasureClients {
  readonly attachments: Pick<Client<typeof AttachmentService>, 'eraseAttachments'>
  readonly notifier: Pick<Client<typeof DeliveryErasureService>, 'erasePerson'>
}

/** What the resources of one kind have outside their documents. */
interface Rest<D> {
  /** The public id of the resource, and those of the resources whose place it took. */
  idsOf(resource: D): readonly string[]
  filesOf?(resource: D): readonly AttachedFile[]
  readonly comments?: Collection<Comment>
}

const PAGE = 100
const CALL = { timeoutMs: 10_000 }
/** It fails only while the store or another service is unavailable, so it is repeated for days. */
const LIMITS = { lease_ms: 30_000, tries_max: 3_000, backoff: { first_ms: 1_000, max_ms: 300_000 } }

/**
 * Erases the comments, files and callbacks of an erased resource. The ids of the files stay, so that a repetition after a crash
 * finds them.
 */
export function bindEraseRest<D extends Erasable & MerchantScope>(
  { attachments, notifier }: ErasureClients,
  { idsOf, filesOf = () => [], comments }: Rest<D>,
): BoundEffect<D> {
  return eraseRestEffect.bind<D>({
    ...LIMITS,
    async run(_effect, resource) {
      const scope = scopeToProto(resource)
      const eraseFiles = async (files: readonly AttachedFile[]): Promise<void> => {
        const attachmentIds = files.map(({ attachment_id }) => attachment_id)
        if (attachmentIds.length > 0) await attachments.eraseAttachments({ ...scope, attachmentIds }, CALL)
      }
      await eraseFiles(filesOf(resource))
      for (const id of idsOf(resource)) {
        if (comments) await eraseComments(comments, resource, id, eraseFiles)
        await notifier.erasePerson({ merchantId: scope.merchantId, resourceId: id }, CALL)
      }
      return (current) => current
    },
  })
}

async function eraseComments(
  comments: Collection<Comment>,
  { merchant_id, environment }: MerchantScope,
  thread_id: string,
  eraseFiles: (files: readonly AttachedFile[]) => Promise<void>,
): Promise<void> {
  const range = { equals: [merchant_id, environment, thread_id] }
  let after: Comment | undefined
  do {
    const page: readonly Comment[] = await comments.find('key', range, { limit: PAGE, after })
    for (const comment of page) {
      await eraseFiles(comment.attachments)
      await update(comments, keyOfComment(comment), eraseComment)
    }
    after = page.at(-1)
  } while (after)
}
