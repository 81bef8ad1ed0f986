import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import type { Attachment } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import type { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { withoutAct } from '#lib/base/context.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import { ATTACHMENT_PURPOSES, type AttachmentPurpose } from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type MerchantScope, scopeToProto } from '#lib/contract/merchant-scope.ts'
import { CLAIM_USE_MS } from '#lib/patterns/attachment-claim.ts'
import type { AttachedFile } from '../domain/support-resource.ts'

/** What claims need of the service that keeps files. */
export type AttachmentClaims = Pick<
  Client<typeof AttachmentService>,
  'claimAttachments' | 'releaseAttachments'
>

/** The files that a merchant's ticket, comment or chargeback is to use. */
export interface FileClaim extends MerchantScope {
  readonly purpose: AttachmentPurpose
  readonly attachment_ids: readonly string[]
  /** What will use the files: `ticket:<id>`, `comment:<id>` or `chargeback:<id>`. */
  readonly used_by: string
  /** The ticket of a comment. */
  readonly ticket_id?: string
}

/** Files that a call has claimed for what it is about to store. */
interface ClaimedFiles {
  readonly files: readonly AttachedFile[]
  /** Asked right before the write: throws `Unavailable` when the claim is so old that it may have ended meanwhile. */
  assertHeld(): void
}

/**
 * Claims the files, then does the work that uses them. When the work is refused, the files are given back before the
 * refusal is thrown, so that another ticket or comment can have them, but not what another call for the same user has
 * claimed, too. After a crash the claim ends by itself, unless what uses the files was stored by then. A repetition claims
 * nothing twice. Throws 13001 to 13004 and 9000 for a file that cannot be used.
 */
export async function withClaimed<T>(
  attachments: AttachmentClaims,
  request: FileClaim,
  work: (claimed: ClaimedFiles) => Promise<T>,
): Promise<T> {
  const { purpose, attachment_ids, used_by, ticket_id: ticketId = '' } = request
  if (attachment_ids.length === 0) return work({ files: [], assertHeld: () => {} })
  const until_ms = now().getTime() + CLAIM_USE_MS
  const claim = {
    ...scopeToProto(request),
    attachmentIds: [...attachment_ids],
    usedBy: used_by,
    callId: randomHex(8),
  }
  // A claim prepares what the call will do: alone it is not an act that was done.
  const { attachments: claimed } = await withoutAct(() =>
    attachments.claimAttachments({ ...claim, purpose: ATTACHMENT_PURPOSES.toProto(purpose), ticketId }),
  )
  const assertHeld = (): void => {
    if (now().getTime() >= until_ms) throw new Unavailable('the files were claimed too long ago; try again')
  }
  try {
    return await work({ files: claimed.map(attachmentFromProto), assertHeld })
  } catch (error) {
    // After a fault the work may have been done, so the claim stays.
    if (error instanceof PublicError && error.code !== 2001 && error.code !== 2002)
      await withoutAct(() => attachments.releaseAttachments(claim))
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
    ...(attachment.hasFormulas && { has_formulas: true }),
  }
}
