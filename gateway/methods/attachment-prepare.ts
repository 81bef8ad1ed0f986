import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import {
  ATTACHMENT_MAX_BYTES,
  ATTACHMENT_PURPOSES,
  ATTACHMENT_TYPES,
  type AttachmentType,
  SHA256_DIGEST,
} from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { integer, text, word } from '../json/scalars.ts'
import { described, object } from '../json/schema.ts'
import { ATTACHMENT_NAME, permittedPurposes, WRITE_SCOPES } from './attachment-fields.ts'
import {
  ATTACHMENT,
  ATTACHMENT_COMPONENTS,
  linkSchema,
  requiredAttachment,
  toAttachmentObject,
  toLinkObject,
} from './attachment-result.ts'
import { defineMethod } from './method.ts'
import { ownerOf } from './request-to-proto.ts'
import { MUTATION_ENVELOPE } from './support-fields.ts'

/** `attachment.prepare`: opens an upload session for a file (F1). */
export const attachmentPrepare = defineMethod({
  name: 'attachment.prepare',
  default_quota: 20,
  summary: 'Prepares the upload of a file',
  description:
    'The purpose `ticket` needs the scope `tickets.create`, `ticket_comment` needs `tickets.comment`. Send the bytes with ' +
    'a PUT to `upload.url`, with the given headers, until `upload.expires_at`, then call `attachment.finalize`. The link ' +
    'needs no signature of yours; keep it as secret as the file. Beyond 20 files or 100 MiB that are not uploaded or ' +
    'not scanned yet the response is 429.',
  example: {
    method: 'attachment.prepare',
    operation_id: 'prepare-receipt-1',
    params: {
      purpose: 'ticket',
      name: 'receipt.pdf',
      mime_type: 'application/pdf',
      size: 48_213,
      sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    },
  },
  request: object({
    ...MUTATION_ENVELOPE,
    params: object({
      purpose: word(Object.keys(WRITE_SCOPES) as (keyof typeof WRITE_SCOPES)[]),
      name: ATTACHMENT_NAME,
      mime_type: word(Object.keys(ATTACHMENT_TYPES) as AttachmentType[]),
      size: described('In bytes, exactly.', integer({ min: 1, max: ATTACHMENT_MAX_BYTES })),
      sha256: described(
        'The SHA-256 of the bytes in lower-case hexadecimal.',
        text({ min: 64, max: 64, format: { pattern: SHA256_DIGEST } }),
      ),
    }),
  }),
  result: {
    type: 'object',
    required: ['attachment', 'upload'],
    properties: {
      attachment: ATTACHMENT,
      upload: linkSchema({
        method: { const: 'PUT' },
        headers: { type: 'object', additionalProperties: { type: 'string' } },
      }),
    },
  },
  result_components: ATTACHMENT_COMPONENTS,
  createHandler({ clientOf, publicUrl }) {
    const attachments = clientOf(AttachmentService)
    return async ({ operation_id, params }, caller) => {
      const { purpose, name, mime_type, size, sha256 } = params
      if (!permittedPurposes(WRITE_SCOPES, caller).includes(purpose)) throw new PublicError(3008)
      const { attachment, upload } = await attachments.prepareAttachment({
        ...ownerOf(caller),
        purpose: ATTACHMENT_PURPOSES.toProto(purpose),
        file: { name, mimeType: mime_type, sizeBytes: BigInt(size), sha256 },
        operationId: operation_id,
        payloadHash: payloadHash(params),
      })
      return {
        attachment: toAttachmentObject(requiredAttachment(attachment)),
        upload: {
          method: 'PUT',
          headers: { 'Content-Type': mime_type, 'Content-Length': String(size) },
          ...toLinkObject(upload, publicUrl()),
        },
      }
    }
  },
})
