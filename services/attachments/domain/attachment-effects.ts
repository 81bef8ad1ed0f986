import { defineEffect, isText } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { Attachment } from './attachment.ts'

type AttachmentId = Pick<Attachment, 'attachment_id'>

/** An effect that an attachment has at most once. */
function onceEffect(kind: string, id_end: string) {
  const id = ({ attachment_id }: AttachmentId) => `${attachment_id}:${id_end}`
  return defineEffect({ kind, lane: 'independent', data: {}, id })
}

/** An effect for the bytes of one upload. */
function bytesEffect(kind: string, lane: 'independent' | 'external', id_end: string) {
  const id = (_: AttachmentId, { blob_id }: { readonly blob_id: string }) => `${blob_id}:${id_end}`
  return defineEffect({ kind, lane, data: { blob_id: isText }, id })
}

/** Ends an upload session that was not finalized in time. */
export const expireSessionEffect = onceEffect('expire_session', 'expire')

/** Gives the place of a file in the quota back when it is ready, rejected or expired (F4). */
export const releasePlaceEffect = onceEffect('release_place', 'release')

/** Ends a ready file that nothing has used in time. */
export const expireUnusedEffect = onceEffect('expire_unused', 'unused')

/** Forgets the name of a file a day after it was rejected or has expired: it may name a person (O11). */
export const forgetNameEffect = onceEffect('forget_name', 'name')

/** Ends a claim for a ticket, comment or chargeback that was never stored, because the call that claimed crashed. */
export const checkClaimEffect = onceEffect('check_claim', 'claim')

/** Deletes bytes that no attachment refers to any more. */
export const deleteBytesEffect = bytesEffect('delete_bytes', 'independent', 'delete')

/** Checks the structure of the content against its type. It reads the whole file, so few run at once. */
export const inspectContentEffect = bytesEffect('inspect_content', 'external', 'inspect')

/** Sends the content to the virus scanner, until the scanner gives a verdict (F5). */
export const scanContentEffect = bytesEffect('scan_content', 'external', 'scan')

/** The name of a file whose own one was forgotten. */
export const FORGOTTEN_NAME = 'erased'

/** How long the sender can still read what the name of a file was that was rejected or has expired. */
const NAME_KEPT_MS = 24 * 3_600_000

/** An upload that lost its lease may still be storing its last bytes; this is longer than any call of the store. */
const LATE_BYTES_MS = 60_000

/** The effect that deletes the bytes of an upload. */
export function deleteBytes(attachment: Attachment, blob_id: string, at: Date): Effect {
  return deleteBytesEffect.newEffect(attachment, { blob_id }, { at })
}

/** The same for an upload that did not end in order: its bytes may appear until its lease is long over. */
export function deleteLateBytes(
  attachment: Attachment,
  { blob_id, until }: NonNullable<Attachment['writer']>,
  at: Date,
): Effect {
  const due_at = new Date(Math.max(at.getTime(), until.getTime()) + LATE_BYTES_MS)
  return deleteBytesEffect.newEffect(attachment, { blob_id }, { at, due_at })
}

/**
 * The attachment after its end as rejected or expired: all its bytes are deleted, its place in the quota is free, and its name is
 * forgotten a day later.
 */
export function endAttachment(
  attachment: Attachment,
  end: Required<Pick<Attachment, 'status' | 'reason'>> | { readonly status: 'expired' },
  at: Date,
): Attachment {
  const { writer, upload, status, name, ...rest } = attachment
  const forget_at = new Date(at.getTime() + NAME_KEPT_MS)
  const over = [expireSessionEffect, forgetNameEffect]
  const effects = [
    ...attachment.effects.filter((effect) => !over.some((one) => one.matches(effect))),
    ...(name === FORGOTTEN_NAME
      ? []
      : [forgetNameEffect.newEffect(attachment, {}, { at, due_at: forget_at })]),
    // A file that was ready has given its place back already.
    ...(status === 'ready' ? [] : [releasePlaceEffect.newEffect(attachment, {}, { at })]),
    ...(upload === undefined ? [] : [deleteBytes(attachment, upload.blob_id, at)]),
    ...(writer === undefined ? [] : [deleteLateBytes(attachment, writer, at)]),
  ]
  return { ...rest, name, ...end, updated_at: at, effects }
}
