import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import type { Attachment } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import type { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { ATTACHMENT_PURPOSES, type AttachmentPurpose } from '#lib/contract/attachments.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { AttachedFile } from '../domain/attached-file.ts'
import type { Owner } from '../domain/support-resource.ts'

/** What claims need of the service that keeps files. */
export type AttachmentClaims = Pick<
  Client<typeof AttachmentService>,
  'claimAttachments' | 'releaseAttachments'
>

/** The files of a new ticket or comment. `user` is what will use them: `ticket:<id>` or `comment:<id>`. */
export interface FileClaim extends Owner {
  readonly purpose: AttachmentPurpose
  readonly attachment_ids: readonly string[]
  readonly user: string
}

/**
 * Claims the files, then does the work that uses them. When the work is refused, the files are given back before the
 * refusal is thrown, so that another ticket or comment can have them. A repetition for the same user claims nothing twice.
 * Throws 13001 to 13004 and 9000 for a file that cannot be used.
 */
export async function withClaimed<T>(
  attachments: AttachmentClaims,
  { merchant_id, environment, purpose, attachment_ids, user }: FileClaim,
  work: (claimed: readonly AttachedFile[]) => Promise<T>,
): Promise<T> {
  if (attachment_ids.length === 0) return work([])
  const claim = {
    ...{ merchantId: merchant_id, environment: environmentToProto(environment) },
    ...{ attachmentIds: [...attachment_ids], owner: user },
  }
  const { attachments: claimed } = await attachments.claimAttachments({
    ...claim,
    purpose: ATTACHMENT_PURPOSES.toProto(purpose),
  })
  try {
    return await work(claimed.map(attachmentFromProto))
  } catch (error) {
    // After a fault the work may have been done, so the claim stays.
    if (error instanceof PublicError && error.code !== 2001 && error.code !== 2002)
      await attachments.releaseAttachments(claim)
    throw error
  }
}

function attachmentFromProto(attachment: Attachment): AttachedFile {
  const { attachmentId: attachment_id, name, mimeType: mime_type, sizeBytes, createTime } = attachment
  if (!createTime) throw new TypeError('a claimed attachment has no time')
  return {
    attachment_id,
    name,
    mime_type,
    size_bytes: Number(sizeBytes),
    created_at: timestampDate(createTime),
  }
}
