import type { Attachment } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import {
  AttachmentService,
  type GetAttachmentResponse,
} from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Caller } from '../auth/caller.ts'
import { permittedPurposes, READ_SCOPES } from './attachment-fields.ts'
import { purposeOf, requiredAttachment } from './attachment-result.ts'
import type { MethodDeps } from './method.ts'
import { ownerOf } from './request-to-proto.ts'

/** An attachment with the link to its bytes, if it is ready. */
export interface ReadableAttachment extends Pick<GetAttachmentResponse, 'download'> {
  readonly attachment: Attachment
}

/**
 * Makes the function that reads an attachment of the caller. It throws 13001 for one that the caller's merchant does not
 * have, and 3008 without the scope of its purpose (F7).
 */
export function createReadAttachment({
  clientOf,
}: Pick<MethodDeps, 'clientOf'>): (h_id: string, caller: Caller) => Promise<ReadableAttachment> {
  const attachments = clientOf(AttachmentService)
  return async (h_id, caller) => {
    const purposes = permittedPurposes(READ_SCOPES, caller)
    const { attachment, download } = await attachments.getAttachment({
      ...ownerOf(caller),
      attachmentId: h_id,
    })
    const found = requiredAttachment(attachment)
    if (!purposes.includes(purposeOf(found))) throw new PublicError(3008)
    return { attachment: found, ...(download && { download }) }
  }
}
