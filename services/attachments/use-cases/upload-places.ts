import { now } from '#lib/base/time.ts'
import type { AttachmentStatus } from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { update, upsert } from '#lib/patterns/update.ts'
import type { Collection } from '#lib/store/store.ts'
import { type Attachment, isSessionOpen } from '../domain/attachment.ts'
import {
  type FilePlace,
  type UploadQuota,
  withKeptPlace,
  withoutPlaces,
  withPlace,
} from '../domain/upload-quota.ts'
import type { AttachmentsDeps } from './deps.ts'
import { getAttachments } from './read-attachment.ts'

type QuotaDeps = Pick<AttachmentsDeps, 'attachments' | 'upload_quotas'>

/** What decides in which quota a file counts. */
type SentFile = Pick<Attachment, 'merchant_id' | 'environment' | 'purpose'>

/** The key of a quota: evidence comes from the operator, everything else from the merchant. */
function keyOfQuota({ merchant_id, environment, purpose }: SentFile) {
  const sender = purpose === 'chargeback_evidence' ? 'operator' : 'merchant'
  return { merchant_id, environment, sender } as const
}

/**
 * Takes a place for an upload session, in one guarded write, so that no number of requests at once exceeds the limits.
 * Throws 1000 with HTTP 429 when there is none (F4). A repetition for the same attachment takes no second place.
 */
export async function reservePlace(deps: QuotaDeps, file: SentFile, place: FilePlace): Promise<void> {
  const key = keyOfQuota(file)
  const reserve = (): Promise<unknown> =>
    upsert(deps.upload_quotas, key, (current) => {
      const places = withPlace(current?.places ?? [], place, now())
      return places && { ...current, ...key, places }
    })
  try {
    await reserve()
  } catch (error) {
    if (!(error instanceof PublicError) || !(await freeLostPlaces(deps, file))) throw error
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

/** Gives the places of attachments back. */
export async function releasePlaces(
  quotas: Collection<UploadQuota>,
  file: SentFile,
  attachment_ids: readonly string[],
): Promise<void> {
  await update(quotas, keyOfQuota(file), (current) => {
    const places = withoutPlaces(current.places, attachment_ids)
    return places && { ...current, places }
  })
}

/** The statuses of a file with a kept place, which it has before it becomes `scanning`. */
const NEEDS_PLACE: readonly AttachmentStatus[] = ['uploaded', 'scanning']

/**
 * Gives places back that no effect will give back, because a restore has brought the place back without its file. Returns
 * whether there were any. It reads each file that has a kept place.
 */
async function freeLostPlaces({ attachments, upload_quotas }: QuotaDeps, file: SentFile): Promise<boolean> {
  const quota = await upload_quotas.get(keyOfQuota(file))
  const kept = (quota?.places ?? []).flatMap((place) => (place.is_kept ? [place.attachment_id] : []))
  const files = await getAttachments({ attachments }, file, kept)
  const needed = files.filter(({ status }) => NEEDS_PLACE.includes(status))
  const lost = kept.filter((id) => !needed.some(({ attachment_id }) => attachment_id === id))
  if (lost.length > 0) await releasePlaces(upload_quotas, file, lost)
  return lost.length > 0
}
