import type { Client } from '@connectrpc/connect'
import type { AttachmentUseService } from '#gen/multihub/support/v1/attachment_use_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Attachment } from '../domain/attachment.ts'
import { checkClaimEffect } from '../domain/attachment-effects.ts'
import { afterUnusedCheck } from '../domain/claim.ts'

const CALL = { timeoutMs: 3_000 }
const LEASE_MS = 10_000

/**
 * Asks the support service whether the owner of a claim was stored, and ends the claim when it was not: the call that
 * claimed the file has crashed, so the file is free again (F7). A call that joins the claim meanwhile replaces the effect,
 * and then its outcome is not applied. In an update, a process of a release without checks does not replace it; see
 * `afterUnusedCheck`.
 */
export function bindCheckClaim(
  support: Pick<Client<typeof AttachmentUseService>, 'getAttachmentUse'>,
): BoundEffect<Attachment> {
  return checkClaimEffect.bind<Attachment>({
    lease_ms: LEASE_MS,
    // Only an unavailable support service makes it fail, so it is never given up.
    tries_max: Number.POSITIVE_INFINITY,
    async run(_effect, { merchant_id, environment, attachment_id, claim }) {
      if (claim === undefined) return (current) => current
      const { owner, ticket_id = '' } = claim
      const { isUsed } = await support.getAttachmentUse(
        {
          merchantId: merchant_id,
          environment: environmentToProto(environment),
          attachmentId: attachment_id,
          owner,
          ticketId: ticket_id,
        },
        CALL,
      )
      return (current) => (isUsed ? current : afterUnusedCheck(current, now()))
    },
  })
}
