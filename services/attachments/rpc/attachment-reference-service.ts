import { AttachmentReferenceService } from '#gen/multihub/attachments/v1/attachment_reference_service_pb.ts'
import { answerReferences, referenceById } from '#lib/patterns/references.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Attachment } from '../domain/attachment.ts'
import { findAttachmentById } from '../store/attachments-store.ts'

/** Answers which attachment a text names by its id. */
export function createAttachmentReferenceRpc({
  attachments,
}: {
  readonly attachments: Collection<Attachment>
}): RpcService {
  const findReference = referenceById(
    (id) => findAttachmentById(attachments, id),
    ({ attachment_id: id, merchant_id, environment, purpose, status, created_at: time }) => ({
      kind: 'attachment',
      id,
      merchant_id,
      title: `${environment}: attachment for ${purpose}, ${status}`,
      time,
    }),
  )
  return rpcService(AttachmentReferenceService, {
    findReferences: by(['backoffice'], answerReferences([findReference])),
  })
}
