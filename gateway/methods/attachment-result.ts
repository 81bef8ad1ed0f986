import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Attachment, AttachmentLink } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import {
  ATTACHMENT_PURPOSES,
  ATTACHMENT_STATUSES,
  ATTACHMENT_TYPES,
  type AttachmentPurpose,
  type AttachmentStatus,
  REJECTION_REASONS,
} from '#lib/contract/attachments.ts'
import { componentRef, type JsonSchema, record } from '../openapi/json-schema.ts'

/** The purpose of an attachment that the service has sent. */
export function purposeOf({ purpose }: Attachment): AttachmentPurpose {
  return ATTACHMENT_PURPOSES.fromProtoOrThrow(purpose, 'purpose')
}

/** The status of an attachment that the service has sent. */
export function statusOf({ status }: Attachment): AttachmentStatus {
  return ATTACHMENT_STATUSES.fromProtoOrThrow(status, 'status')
}

/** The attachment of a response, which the service always sends. */
export function requiredAttachment(attachment: Attachment | undefined): Attachment {
  if (attachment === undefined) throw new TypeError('the attachments service answered without an attachment')
  return attachment
}

/** The public record of an attachment (F3). A reason is present only when it was rejected. */
export function toAttachmentObject(attachment: Attachment): object {
  const { createTime, updateTime, reason } = attachment
  if (!createTime || !updateTime) throw new TypeError('the attachments service answered without times')
  return {
    identifiers: { h_id: attachment.attachmentId },
    purpose: purposeOf(attachment),
    name: attachment.name,
    mime_type: attachment.mimeType,
    size: Number(attachment.sizeBytes),
    sha256: attachment.sha256,
    status: statusOf(attachment),
    ...(reason === '' ? {} : { reason }),
    created_at: timestampDate(createTime).toISOString(),
    updated_at: timestampDate(updateTime).toISOString(),
  }
}

/** Where a link leads and until when it works. */
export function toLinkObject(
  link: AttachmentLink | undefined,
  public_url: string,
): { url: string; expires_at: string } {
  if (!link?.expireTime) throw new TypeError('the attachments service answered without a link')
  return { url: public_url + link.path, expires_at: timestampDate(link.expireTime).toISOString() }
}

const instant = { type: 'string', format: 'date-time' } as const

const STATUS = {
  status: { type: 'string', enum: ATTACHMENT_STATUSES.names },
  reason: {
    type: 'string',
    enum: REJECTION_REASONS,
    description: 'Present only when the file was rejected.',
  },
}

/** The schema of `attachment.status`. */
export const ATTACHMENT_STATUS_RESULT: JsonSchema = record(
  { h_id: { type: 'string', format: 'uuid' }, ...STATUS },
  ['reason'],
)

/** The schemas that results with an attachment refer to. */
export const ATTACHMENT_COMPONENTS: Readonly<Record<string, JsonSchema>> = {
  Attachment: record(
    {
      identifiers: record({ h_id: { type: 'string', format: 'uuid', description: 'Our identifier.' } }),
      purpose: { type: 'string', enum: ATTACHMENT_PURPOSES.names },
      name: { type: 'string' },
      mime_type: { type: 'string', enum: Object.keys(ATTACHMENT_TYPES) },
      size: { type: 'integer', description: 'In bytes.' },
      sha256: { type: 'string' },
      ...STATUS,
      created_at: instant,
      updated_at: instant,
    },
    ['reason'],
  ),
}

/** The schema of an attachment in a result. */
export const ATTACHMENT: JsonSchema = componentRef('Attachment')

/** The schema of a link with more fields. */
export function linkSchema(more: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  return record({ ...more, url: { type: 'string', format: 'uri' }, expires_at: instant })
}
