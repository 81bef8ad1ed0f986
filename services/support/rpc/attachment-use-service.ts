import { AttachmentUseService } from '#gen/multihub/support/v1/attachment_use_service_pb.ts'
import { scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { type FileUsers, isAttachmentUsed } from '../use-cases/attachment-use.ts'

/** Serves the check of the attachments service that what claims a file was stored with the file (F7). */
export function createAttachmentUseRpc(users: FileUsers): RpcService {
  return rpcService(AttachmentUseService, {
    getAttachmentUse: by(['attachments'], async (request) => {
      const isUsed = await isAttachmentUsed(users, {
        ...scopeFromProto(request),
        attachment_id: requiredId(request.attachmentId, 'attachment_id'),
        used_by: requiredText(request.usedBy, 'used_by'),
        ticket_id: request.ticketId,
      })
      return { isUsed }
    }),
  })
}
