import type { Client } from '@connectrpc/connect'
import type { AttachmentUseService } from '#gen/multihub/support/v1/attachment_use_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Attachment } from '../domain/attachment.ts'
import {
  checkClaimEffect,
  deleteBytesEffect,
  expireSessionEffect,
  expireUnusedEffect,
  FORGOTTEN_NAME,
  forgetNameEffect,
  releasePlaceEffect,
} from '../domain/attachment-effects.ts'
import { withoutClaim } from '../domain/claim.ts'
import { expire } from '../domain/session.ts'
import type { AttachmentsStore } from '../store/attachments-store.ts'
import { releasePlaces } from '../use-cases/upload-places.ts'

/** These effects fail only while the store or the support service is unavailable, so they are never given up. */
const OPTIONS = { lease_ms: 10_000, tries_max: Number.POSITIVE_INFINITY } as const

/** Deleting 10 MiB takes longer than one write. */
const DELETE_LEASE_MS = 60_000

const SUPPORT_CALL = { timeoutMs: 3_000 }

/** The effects that end what was left behind, and free what it held. Each can be repeated without harm. */
export function bindCleanUp(
  { upload_quotas, files }: Pick<AttachmentsStore, 'upload_quotas' | 'files'>,
  support: Pick<Client<typeof AttachmentUseService>, 'getAttachmentUse'>,
): readonly BoundEffect<Attachment>[] {
  const expireNow = async () => (current: Attachment) => expire(current, now())
  return [
    // Both let the place of the file be given back and its bytes be deleted (F2).
    expireSessionEffect.bind<Attachment>({ ...OPTIONS, run: expireNow }),
    expireUnusedEffect.bind<Attachment>({ ...OPTIONS, run: expireNow }),
    forgetNameEffect.bind<Attachment>({
      ...OPTIONS,
      run: async () => (current) => ({ ...current, name: FORGOTTEN_NAME }),
    }),
    releasePlaceEffect.bind<Attachment>({
      ...OPTIONS,
      async run(_effect, attachment) {
        await releasePlaces(upload_quotas, attachment, [attachment.attachment_id])
        return (current) => current
      },
    }),
    deleteBytesEffect.bind<Attachment>({
      ...OPTIONS,
      lease_ms: DELETE_LEASE_MS,
      async run({ data }) {
        await files.delete(data.blob_id)
        return (current) => current
      },
    }),
    // When the ticket, comment or chargeback of the claim was not stored, the call that claimed the file has crashed, so
    // the file is free again (F7). A call that joins the claim meanwhile replaces the effect, and then its outcome is not
    // applied.
    checkClaimEffect.bind<Attachment>({
      ...OPTIONS,
      async run(_effect, attachment) {
        const { attachment_id: attachmentId, claim } = attachment
        if (claim === undefined) return (current) => current
        const { used_by: usedBy, ticket_id: ticketId } = claim
        const use = { ...scopeToProto(attachment), attachmentId, usedBy, ticketId }
        const { isUsed } = await support.getAttachmentUse(use, SUPPORT_CALL)
        return (current) => (isUsed ? current : withoutClaim(current, now()))
      },
    }),
  ]
}
