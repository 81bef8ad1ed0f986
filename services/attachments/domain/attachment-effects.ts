import { defineEffect, isText } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { Attachment } from './attachment.ts'

/** Ends an upload session that was not finalized in time. */
export const expireSessionEffect = defineEffect({
  kind: 'expire_session',
  lane: 'independent',
  data: {},
  id: ({ attachment_id }: Pick<Attachment, 'attachment_id'>) => `${attachment_id}:expire`,
})

/** Gives the place of a file in the quota back when it is ready, rejected or expired (F4). */
export const releasePlaceEffect = defineEffect({
  kind: 'release_place',
  lane: 'independent',
  data: {},
  id: ({ attachment_id }: Pick<Attachment, 'attachment_id'>) => `${attachment_id}:release`,
})

/** Ends a ready file that nothing has used in time. */
export const expireUnusedEffect = defineEffect({
  kind: 'expire_unused',
  lane: 'independent',
  data: {},
  id: ({ attachment_id }: Pick<Attachment, 'attachment_id'>) => `${attachment_id}:unused`,
})

/** Ends a claim whose owner was never stored, because the call that claimed crashed. */
export const checkClaimEffect = defineEffect({
  kind: 'check_claim',
  lane: 'independent',
  data: {},
  id: ({ attachment_id }: Pick<Attachment, 'attachment_id'>) => `${attachment_id}:claim`,
})

/** Deletes bytes that no attachment refers to any more. */
export const deleteBytesEffect = defineEffect({
  kind: 'delete_bytes',
  lane: 'independent',
  data: { blob_id: isText },
  id: (_: Pick<Attachment, 'attachment_id'>, { blob_id }: { readonly blob_id: string }) =>
    `${blob_id}:delete`,
})

/** Checks the structure of the content against its type. It reads the whole file, so few run at once. */
export const inspectContentEffect = defineEffect({
  kind: 'inspect_content',
  lane: 'external',
  data: { blob_id: isText },
  id: (_: Pick<Attachment, 'attachment_id'>, { blob_id }: { readonly blob_id: string }) =>
    `${blob_id}:inspect`,
})

/** Sends the content to the virus scanner, until the scanner gives a verdict (F5). */
export const scanContentEffect = defineEffect({
  kind: 'scan_content',
  lane: 'external',
  data: { blob_id: isText },
  id: (_: Pick<Attachment, 'attachment_id'>, { blob_id }: { readonly blob_id: string }) => `${blob_id}:scan`,
})

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
