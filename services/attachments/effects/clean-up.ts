import type { Client } from '@connectrpc/connect'
import type { AttachmentUseService } from '#gen/multihub/support/v1/attachment_use_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Blobs, Collection } from '#lib/store/store.ts'
import type { Attachment } from '../domain/attachment.ts'
import {
  checkClaimEffect,
  deleteBytesEffect,
  expireSessionEffect,
  expireUnusedEffect,
  releasePlaceEffect,
} from '../domain/attachment-effects.ts'
import { withoutClaim } from '../domain/claim.ts'
import { expire } from '../domain/session.ts'
import type { UploadQuota } from '../domain/upload-quota.ts'
import { releasePlaces } from '../use-cases/upload-places.ts'

/** These effects fail only while the store or the support service is unavailable, so they are never given up. */
const OPTIONS = { lease_ms: 10_000, tries_max: Number.POSITIVE_INFINITY } as const

/** Deleting 10 MiB takes longer than one write. */
const DELETE_LEASE_MS = 60_000

const SUPPORT_CALL = { timeoutMs: 3_000 }

/** Ends a session that was not finalized in time, and lets its place be given back and its bytes be deleted (F2). */
export function bindExpireSession(): BoundEffect<Attachment> {
  return expireSessionEffect.bind<Attachment>({
    ...OPTIONS,
    run: async () => (current) => expire(current, now()),
  })
}

/** Ends a ready file that nothing has used for a day, and lets its bytes be deleted (F2). */
export function bindExpireUnused(): BoundEffect<Attachment> {
  return expireUnusedEffect.bind<Attachment>({
    ...OPTIONS,
    run: async () => (current) => expire(current, now()),
  })
}

/** Frees the place of a ready, rejected or expired file in the upload quota of its sender (F4). A repetition is harmless. */
export function bindReleasePlace(upload_quotas: Collection<UploadQuota>): BoundEffect<Attachment> {
  return releasePlaceEffect.bind<Attachment>({
    ...OPTIONS,
    async run(_effect, attachment) {
      await releasePlaces(upload_quotas, attachment, [attachment.attachment_id])
      return (current) => current
    },
  })
}

/** Deletes the bytes of an upload that was replaced, rejected, abandoned or expired. Deleting them twice is harmless. */
export function bindDeleteBytes(files: Blobs): BoundEffect<Attachment> {
  return deleteBytesEffect.bind<Attachment>({
    ...OPTIONS,
    lease_ms: DELETE_LEASE_MS,
    async run({ data }) {
      await files.delete(data.blob_id)
      return (current) => current
    },
  })
}

/**
 * Asks the support service whether the ticket, comment or chargeback of a claim was stored, and ends the claim when it was
 * not: the call that claimed the file has crashed, so the file is free again (F7). A call that joins the claim meanwhile
 * replaces the effect, and then its outcome is not applied.
 */
export function bindCheckClaim(
  support: Pick<Client<typeof AttachmentUseService>, 'getAttachmentUse'>,
): BoundEffect<Attachment> {
  return checkClaimEffect.bind<Attachment>({
    ...OPTIONS,
    async run(_effect, { merchant_id, environment, attachment_id, claim }) {
      if (claim === undefined) return (current) => current
      const { isUsed } = await support.getAttachmentUse(
        {
          ...scopeToProto({ merchant_id, environment }),
          attachmentId: attachment_id,
          usedBy: claim.used_by,
          ticketId: claim.ticket_id,
        },
        SUPPORT_CALL,
      )
      return (current) => (isUsed ? current : withoutClaim(current, now()))
    },
  })
}
