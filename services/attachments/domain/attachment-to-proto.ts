import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { AttachmentSchema } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { ATTACHMENT_PURPOSES, ATTACHMENT_STATUSES } from '#lib/contract/attachments.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { type Attachment, statusAt } from './attachment.ts'

/** Maps an attachment as it is at a time: one whose session has ended is expired. */
export function attachmentToProto(
  attachment: Attachment,
  at: Date,
): MessageInitShape<typeof AttachmentSchema> {
  return {
    attachmentId: attachment.attachment_id,
    merchantId: attachment.merchant_id,
    environment: environmentToProto(attachment.environment),
    purpose: ATTACHMENT_PURPOSES.toProto(attachment.purpose),
    name: attachment.name,
    mimeType: attachment.mime_type,
    sizeBytes: BigInt(attachment.size_bytes),
    sha256: attachment.sha256,
    status: ATTACHMENT_STATUSES.toProto(statusAt(attachment, at)),
    reason: attachment.reason ?? '',
    scanSkipped: attachment.scan_skipped ?? false,
    owner: attachment.claim?.owner ?? '',
    createTime: timestampFromDate(attachment.created_at),
    updateTime: timestampFromDate(attachment.updated_at),
  }
}
