import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { TicketAttachmentSchema } from '#gen/multihub/support/v1/ticket_pb.ts'
import type { AttachedFile } from '../../domain/attached-file.ts'

/** The file as RPCs carry it with its ticket or comment. */
export function attachmentToProto(attachment: AttachedFile): MessageInitShape<typeof TicketAttachmentSchema> {
  return {
    attachmentId: attachment.attachment_id,
    name: attachment.name,
    mimeType: attachment.mime_type,
    sizeBytes: BigInt(attachment.size_bytes),
    createTime: timestampFromDate(attachment.created_at),
  }
}
