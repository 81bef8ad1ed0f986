import { now } from '#lib/base/time.ts'
import type { AttachmentStatus } from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { update, upsert } from '#lib/patterns/update.ts'
import type { Collection } from '#lib/store/store.ts'
import { type Attachment, isSessionOpen } from '../domain/attachment.ts'
import {
  type FilePlace,
  type Sender,
  type UploadQuota,
  withKeptPlace,
  withoutPlaces,
  withPlace,
} from '../domain/upload-quota.ts'
import type { AttachmentsDeps } from './deps.ts'
import { getAttachments } from './read-attachment.ts'

type QuotaDeps = Pick<AttachmentsDeps, 'attachments' | 'upload_quotas'>

/** The sender of an attachment: evidence comes from the operator, everything else from the merchant. */
function senderOf({ purpose }: Pick<Attachment, 'purpose'>): Sender {
  return purpose === 'chargeback_evidence' ? 'operator' : 'merchant'
}

type PlaceOwner = Pick<Attachment, 'merchant_id' | 'environment' | 'purpose'>

function keyOfQuota(owner: PlaceOwner): { merchant_id: string; environment: string; sender: Sender } {
  const { merchant_id, environment } = owner
  return { merchant_id, environment, sender: senderOf(owner) }
}

/**
 * Takes a place for an upload session, in one guarded write, so that no number of requests at once exceeds the limits.
 * Throws 1000 with HTTP 429 when there is none (F4). A repetition for the same attachment takes no second place.
 */
export async function reservePlace(deps: QuotaDeps, owner: PlaceOwner, place: FilePlace): Promise<void> {
  const key = keyOfQuota(owner)
  const reserve = (): Promise<unknown> =>
    upsert(deps.upload_quotas, key, (current) => {
      const places = withPlace(current?.places ?? [], place, now())
      return places && { ...current, ...key, places }
    })
  try {
    await reserve()
  } catch (error) {
    if (!(error instanceof PublicError) || !(await freeLostPlaces(deps, owner))) throw error
    await reserve()
  }
}

/**
 * Keeps the place of an attachment until an effect gives it back. Returns false when it has none: its session has ended, or
 * its file is scanned already.
 */
export async function keepPlace(quotas: Collection<UploadQuota>, attachment: Attachment): Promise<boolean> {
  const { attachment_id } = attachment
  const quota = await update(quotas, keyOfQuota(attachment), (current) => {
    // A session that has ended since it was read may have been opened again, by a prepare that is repeated after a crash.
    if (!isSessionOpen(attachment, now())) return undefined
    const places = withKeptPlace(current.places, attachment_id)
    return places && { ...current, places }
  })
  return quota?.places.some((place) => place.attachment_id === attachment_id && place.is_kept) ?? false
}

/** Gives the place of an attachment back. */
export function releasePlace(quotas: Collection<UploadQuota>, attachment: Attachment): Promise<unknown> {
  return releasePlaces(quotas, attachment, [attachment.attachment_id])
}

/**
 * Gives places back that no effect will give back: a process of an older release, which has no such effect, wrote the outcome
 * of the file, or a restore brought the place back without its file. Returns whether there were any. It reads each file that
 * has a kept place.
 */
async function freeLostPlaces(
  { attachments, upload_quotas }: QuotaDeps,
  owner: PlaceOwner,
): Promise<boolean> {
  const quota = await upload_quotas.get(keyOfQuota(owner))
  const kept = (quota?.places ?? []).flatMap((place) => (place.is_kept ? [place.attachment_id] : []))
  const files = await getAttachments({ attachments }, owner, kept)
  const needed = new Set(
    files.flatMap(({ attachment_id, status }) => (NEEDS_PLACE.includes(status) ? [attachment_id] : [])),
  )
  const lost = kept.filter((attachment_id) => !needed.has(attachment_id))
  if (lost.length > 0) await releasePlaces(upload_quotas, owner, lost)
  return lost.length > 0
}

/** The statuses of a file with a kept place, which it has before it becomes `scanning`. */
const NEEDS_PLACE: readonly AttachmentStatus[] = ['uploaded', 'scanning']

function releasePlaces(
  quotas: Collection<UploadQuota>,
  owner: PlaceOwner,
  attachment_ids: readonly string[],
): Promise<unknown> {
  return update(quotas, keyOfQuota(owner), (current) => {
    const places = withoutPlaces(current.places, attachment_ids)
    return places && { ...current, places }
  })
}
