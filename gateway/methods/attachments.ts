import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Attachment, AttachmentLink } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import {
  ATTACHMENT_MAX_BYTES,
  ATTACHMENT_NAME_MAX_BYTES,
  ATTACHMENT_PURPOSES,
  ATTACHMENT_STATUSES,
  ATTACHMENT_TYPES,
  type AttachmentPurpose,
  type AttachmentType,
  FORBIDDEN_IN_NAME,
  isAttachmentName,
  REJECTION_REASONS,
  refusalUnlessReady,
  SHA256_DIGEST,
} from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { Scope } from '#lib/contract/methods.ts'
import { OUR_ID } from '#lib/contract/public-support.ts'
import {
  defineView,
  field,
  instantField,
  type JsonSchema,
  objectField,
  optionalField,
  record,
  textField,
  wordField,
} from '#lib/contract/view.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import type { Caller } from '../auth/credential.ts'
import { integer, type TextFormat, text, word } from '../json/scalars.ts'
import { described, object, type Schema } from '../json/schema.ts'
import { defineMethod, type MethodDeps } from './method.ts'
import { keyedRequest, OUR_IDENTIFIER, supportRequest } from './support-methods.ts'

const STATUS_FIELDS = {
  status: wordField(ATTACHMENT_STATUSES, 'status'),
  reason: optionalField<Attachment>(
    textField(({ reason }) => reason || undefined, {
      enum: REJECTION_REASONS,
      description: 'Present only when the file was rejected.',
    }),
  ),
}

/** The public record of an attachment (F3). */
export const ATTACHMENT_VIEW = defineView<Attachment>('Attachment', {
  identifiers: objectField({ h_id: textField(({ attachmentId }) => attachmentId, OUR_ID) }),
  purpose: wordField(ATTACHMENT_PURPOSES, 'purpose', {
    description: 'Files of `chargeback_evidence` come from the operator; all others are yours.',
  }),
  name: textField(({ name }) => name),
  mime_type: textField(({ mimeType }) => mimeType, { enum: Object.keys(ATTACHMENT_TYPES) }),
  size: field({ type: 'integer', description: 'In bytes.' }, ({ sizeBytes }) => Number(sizeBytes)),
  sha256: textField(({ sha256 }) => sha256),
  ...STATUS_FIELDS,
  created_at: instantField(({ createTime }) => createTime),
  updated_at: instantField(({ updateTime }) => updateTime),
})

/** The result of `attachment.status`. */
const ATTACHMENT_STATUS = objectField<Attachment>({
  h_id: textField(({ attachmentId }) => attachmentId, { format: 'uuid' }),
  ...STATUS_FIELDS,
})

/** Where a link leads and until when it works. */
function toLinkObject(
  link: AttachmentLink | undefined,
  public_url: string,
): { url: string; expires_at: string } {
  if (!link?.expireTime) throw new TypeError('the attachments service answered without a link')
  return { url: public_url + link.path, expires_at: timestampDate(link.expireTime).toISOString() }
}

/** The schema of a link with more fields. */
function linkSchema(more: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  return record({
    ...more,
    url: { type: 'string', format: 'uri' },
    expires_at: { type: 'string', format: 'date-time' },
  })
}

/** The scopes with which a merchant uploads files, by purpose; evidence is the operator's (F7). */
const WRITE_SCOPES = {
  ticket: 'tickets.create',
  ticket_comment: 'tickets.comment',
} as const satisfies Readonly<Partial<Record<AttachmentPurpose, Scope>>>

/** The scopes with which a merchant reads files, by purpose (F7). */
const READ_SCOPES = {
  ticket: 'tickets.read',
  ticket_comment: 'tickets.read',
  chargeback_evidence: 'chargebacks.read',
} as const satisfies Readonly<Record<AttachmentPurpose, Scope>>

type PurposeScopes = Readonly<Partial<Record<AttachmentPurpose, Scope>>>

/** The purposes that a credential may act on. Throws 3008 when there are none (F7). */
function permittedPurposes(scopes: PurposeScopes, caller: Caller): readonly AttachmentPurpose[] {
  const purposes = (Object.keys(scopes) as AttachmentPurpose[]).filter((purpose) =>
    caller.scopes.has(scopes[purpose] ?? ''),
  )
  if (purposes.length === 0) throw new PublicError(3008)
  return purposes
}

const FILE_NAME: TextFormat = { pattern: new RegExp(`^[^${FORBIDDEN_IN_NAME}]*$`), accepts: isAttachmentName }

/** The name of a file (F6). */
const ATTACHMENT_NAME: Schema<string, 'required'> = described(
  'At most 255 bytes of UTF-8, without separators of paths, control characters and characters that change the ' +
    'direction of text.',
  text({ min: 1, max: ATTACHMENT_NAME_MAX_BYTES, format: FILE_NAME }),
)

/** The request of a method that names one attachment. */
const ATTACHMENT_PARAMS = object({ attachment: OUR_IDENTIFIER })

/** `attachment.prepare`: opens an upload session for a file (F1). */
export const attachmentPrepare = defineMethod({
  name: 'attachment.prepare',
  refusals: [1013],
  default_quota: 20,
  summary: 'Prepares the upload of a file',
  description:
    'The purpose `ticket` needs the scope `tickets.create`, `ticket_comment` needs `tickets.comment`. Send the bytes with ' +
    'a PUT to `upload.url`, with the given headers, until `upload.expires_at`, then call `attachment.finalize`. The link ' +
    'needs no signature of yours; keep it as secret as the file. Beyond 20 files or 100 MiB that are not uploaded or ' +
    'not scanned yet the request is refused with HTTP 429.',
  example: {
    operation_id: 'prepare-receipt-1',
    params: {
      purpose: 'ticket',
      name: 'receipt.pdf',
      mime_type: 'application/pdf',
      size: 38,
      sha256: '3d3a7b7b65a94db634c1f607d1407382923d30a22e649314bbb688443ce7fa0b',
    },
  },
  request: keyedRequest(
    object({
      purpose: word(Object.keys(WRITE_SCOPES) as (keyof typeof WRITE_SCOPES)[]),
      name: ATTACHMENT_NAME,
      mime_type: word(Object.keys(ATTACHMENT_TYPES) as AttachmentType[]),
      size: described('In bytes, exactly.', integer({ min: 1, max: ATTACHMENT_MAX_BYTES })),
      sha256: described(
        'The SHA-256 of the bytes in lower-case hexadecimal.',
        text({ min: 64, max: 64, format: { pattern: SHA256_DIGEST } }),
      ),
    }),
  ),
  result: {
    type: 'object',
    required: ['attachment', 'upload'],
    properties: {
      attachment: ATTACHMENT_VIEW.schema,
      upload: linkSchema({
        method: { type: 'string', const: 'PUT' },
        headers: { type: 'object', additionalProperties: { type: 'string' } },
      }),
    },
  },
  result_components: ATTACHMENT_VIEW.components,
  createHandler({ clientOf, publicUrl }) {
    const attachments = clientOf(AttachmentService)
    return async ({ operation_id, params }, caller) => {
      const { purpose, name, mime_type, size, sha256 } = params
      if (!permittedPurposes(WRITE_SCOPES, caller).includes(purpose)) throw new PublicError(3008)
      const { attachment, upload } = await attachments.prepareAttachment({
        ...scopeToProto(caller),
        purpose: ATTACHMENT_PURPOSES.toProto(purpose),
        file: { name, mimeType: mime_type, sizeBytes: BigInt(size), sha256 },
        operationId: operation_id,
        payloadHash: payloadHash(params),
      })
      return {
        attachment: ATTACHMENT_VIEW.render(attachment),
        upload: {
          method: 'PUT',
          headers: { 'Content-Type': mime_type, 'Content-Length': String(size) },
          ...toLinkObject(upload, publicUrl()),
        },
      }
    }
  },
})

/** `attachment.finalize`: ends an upload and has the file checked (F3). */
export const attachmentFinalize = defineMethod({
  name: 'attachment.finalize',
  refusals: [1013, 13001, 13002, 13003, 13004],
  default_quota: 20,
  summary: 'Ends the upload of a file and has it checked',
  description:
    'Needs the scope of the purpose, as `attachment.prepare`. Without a complete upload it is refused with 13003, after ' +
    'the session has ended with 13002, and with 13004 if the bytes are not what was announced: then `details.reason` says why; prepare the file again. ' +
    'Otherwise the file is `scanning`; ask for `attachment.status` until it is `ready` or `rejected`.',
  example: {
    operation_id: 'finalize-receipt-1',
    params: { attachment: { h_id: '0199c0de-0000-7000-8000-000000000001' } },
  },
  request: keyedRequest(ATTACHMENT_PARAMS),
  result: record({ attachment: ATTACHMENT_VIEW.schema }),
  result_components: ATTACHMENT_VIEW.components,
  createHandler({ clientOf }) {
    const attachments = clientOf(AttachmentService)
    return async ({ operation_id, params }, caller) => {
      const purposes = permittedPurposes(WRITE_SCOPES, caller)
      const { attachment } = await attachments.finalizeAttachment({
        ...scopeToProto(caller),
        attachmentId: params.attachment.h_id,
        permittedPurposes: purposes.map((purpose) => ATTACHMENT_PURPOSES.toProto(purpose)),
        operationId: operation_id,
        payloadHash: payloadHash(params),
      })
      return { attachment: ATTACHMENT_VIEW.render(attachment) }
    }
  },
})

/**
 * Makes the function that reads an attachment of the caller, with the link to its bytes if it is ready. It throws 13001 for
 * one that the caller's merchant does not have, and 3008 without the scope of its purpose (F7).
 */
function createReadAttachment({ clientOf }: Pick<MethodDeps, 'clientOf'>) {
  const attachments = clientOf(AttachmentService)
  return async (attachmentId: string, caller: Caller) => {
    const purposes = permittedPurposes(READ_SCOPES, caller)
    const scope = scopeToProto(caller)
    const { attachment, download } = await attachments.getAttachment({ ...scope, attachmentId })
    if (attachment === undefined)
      throw new TypeError('the attachments service answered without an attachment')
    const purpose = ATTACHMENT_PURPOSES.fromProtoOrThrow(attachment.purpose, 'purpose')
    if (!purposes.includes(purpose)) throw new PublicError(3008)
    return { attachment, download }
  }
}

/** `attachment.status`: shows the step at which a file is (F3). */
export const attachmentStatus = defineMethod({
  name: 'attachment.status',
  refusals: [13001],
  default_quota: 20,
  summary: 'Shows the status of a file',
  description:
    'Needs `tickets.read`, or `chargebacks.read` for evidence of a chargeback. The steps are `awaiting_upload`, `uploaded`, ' +
    '`scanning`, and then `ready` or `rejected`; `expired` means that the upload was not finalized, or the file not used, in time.',
  example: { params: { attachment: { h_id: '0199c0de-0000-7000-8000-000000000001' } } },
  request: supportRequest(ATTACHMENT_PARAMS),
  result: ATTACHMENT_STATUS.schema,
  createHandler(deps) {
    const readAttachment = createReadAttachment(deps)
    return async ({ params }, caller) => {
      const { attachment } = await readAttachment(params.attachment.h_id, caller)
      return ATTACHMENT_STATUS.read(attachment, 'response')
    }
  },
})

/** `attachment.get`: shows a ready file, with a link to its bytes (F3). */
export const attachmentGet = defineMethod({
  name: 'attachment.get',
  refusals: [13001, 13002, 13003, 13004],
  default_quota: 20,
  summary: 'Shows a file and where to download it',
  description:
    'Needs the same scope as `attachment.status`. Get `download.url` within 5 minutes; it needs no signature of yours. Until the ' +
    'file is ready the response is 13003; for a rejected file it is 13004, for an expired one 13002.',
  example: { params: { attachment: { h_id: '0199c0de-0000-7000-8000-000000000001' } } },
  request: supportRequest(ATTACHMENT_PARAMS),
  result: record({ attachment: ATTACHMENT_VIEW.schema, download: linkSchema() }),
  result_components: ATTACHMENT_VIEW.components,
  createHandler(deps) {
    const readAttachment = createReadAttachment(deps)
    return async ({ params }, caller) => {
      const { attachment, download } = await readAttachment(params.attachment.h_id, caller)
      const refusal = refusalUnlessReady(
        ATTACHMENT_STATUSES.fromProtoOrThrow(attachment.status, 'status'),
        attachment.reason,
      )
      if (refusal !== undefined) throw refusal
      return {
        attachment: ATTACHMENT_VIEW.render(attachment),
        download: toLinkObject(download, deps.publicUrl()),
      }
    }
  },
})
