import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { ATTACHMENT_PURPOSES } from '#lib/contract/attachments.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { object } from '../json/schema.ts'
import { record } from '../openapi/json-schema.ts'
import { ATTACHMENT_PARAMS, permittedPurposes, WRITE_SCOPES } from './attachment-fields.ts'
import {
  ATTACHMENT,
  ATTACHMENT_COMPONENTS,
  requiredAttachment,
  toAttachmentObject,
} from './attachment-result.ts'
import { defineMethod } from './method.ts'
import { ownerOf } from './request-to-proto.ts'
import { MUTATION_ENVELOPE } from './support-fields.ts'

/** `attachment.finalize`: ends an upload and has the file checked (F3). */
export const attachmentFinalize = defineMethod({
  name: 'attachment.finalize',
  default_quota: 20,
  summary: 'Ends the upload of a file and has it checked',
  description:
    'Needs the scope of the purpose, as `attachment.prepare`. Without a complete upload it is 13003, after the session ' +
    '13002. Bytes that are not what was announced are 13004, and `details.reason` says why; prepare the file again. ' +
    'Otherwise the file is `scanning`; ask for `attachment.status` until it is `ready` or `rejected`.',
  example: {
    method: 'attachment.finalize',
    operation_id: 'finalize-receipt-1',
    params: { attachment: { h_id: '0199c0de-0000-7000-8000-000000000001' } },
  },
  request: object({ ...MUTATION_ENVELOPE, params: ATTACHMENT_PARAMS }),
  result: record({ attachment: ATTACHMENT }),
  result_components: ATTACHMENT_COMPONENTS,
  createHandler({ clientOf }) {
    const attachments = clientOf(AttachmentService)
    return async ({ operation_id, params }, caller) => {
      const purposes = permittedPurposes(WRITE_SCOPES, caller)
      const { attachment } = await attachments.finalizeAttachment({
        ...ownerOf(caller),
        attachmentId: params.attachment.h_id,
        permittedPurposes: purposes.map((purpose) => ATTACHMENT_PURPOSES.toProto(purpose)),
        operationId: operation_id,
        payloadHash: payloadHash(params),
      })
      return { attachment: toAttachmentObject(requiredAttachment(attachment)) }
    }
  },
})
