import { update, upsert } from '#lib/patterns/update.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { now } from '#lib/platform/time.ts'
import type { Attachment } from '../domain/attachment.ts'
import {
  type OpenSession,
  type Sender,
  type UploadQuota,
  withoutSession,
  withSession,
} from '../domain/upload-quota.ts'

/** The sender of an attachment: evidence comes from the operator, everything else from the merchant. */
function senderOf({ purpose }: Pick<Attachment, 'purpose'>): Sender {
  return purpose === 'chargeback_evidence' ? 'operator' : 'merchant'
}

type SessionOwner = Pick<Attachment, 'merchant_id' | 'environment' | 'purpose'>

function keyOfQuota(owner: SessionOwner): { merchant_id: string; environment: string; sender: Sender } {
  const { merchant_id, environment } = owner
  return { merchant_id, environment, sender: senderOf(owner) }
}

/**
 * Takes a place for an upload session, in one guarded write, so that no number of requests at once exceeds the limits.
 * Throws 1000 with HTTP 429 when there is none (F4). A repetition for the same attachment takes no second place.
 */
export async function reserveSession(
  quotas: Collection<UploadQuota>,
  owner: SessionOwner,
  session: OpenSession,
): Promise<void> {
  const key = keyOfQuota(owner)
  await upsert(quotas, key, (current) => {
    const sessions = withSession(current?.sessions ?? [], session, now())
    return sessions && { ...current, ...key, sessions }
  })
}

/** Gives the place of an attachment back. After a crash before it, the place is free when the session has expired. */
export async function releaseSession(quotas: Collection<UploadQuota>, attachment: Attachment): Promise<void> {
  await update(quotas, keyOfQuota(attachment), (current) => {
    const sessions = withoutSession(current.sessions, attachment.attachment_id)
    return sessions && { ...current, sessions }
  })
}
