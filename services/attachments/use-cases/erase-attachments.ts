import { now } from '#lib/base/time.ts'
import { endAttachment, FORGOTTEN_NAME } from '../domain/attachment-effects.ts'
import { keyOfAttachment } from '../store/attachments-store.ts'
import type { AttachmentList } from './claim-attachments.ts'
import type { AttachmentsDeps } from './deps.ts'

/**
 * Destroys the names and bytes of files, which identify a person (O11): they are expired, and an effect deletes the bytes. Those that
 * do not exist, or are erased already, stay as they are.
 */
export async function eraseAttachments(
  { runner }: Pick<AttachmentsDeps, 'runner'>,
  { merchant_id, environment, attachment_ids }: AttachmentList,
): Promise<void> {
  for (const attachment_id of attachment_ids) {
    const stored = await runner.update(
      keyOfAttachment({ merchant_id, environment, attachment_id }),
      (current) =>
        current.status === 'expired' && current.name === FORGOTTEN_NAME
          ? undefined
          : endAttachment({ ...current, name: FORGOTTEN_NAME }, { status: 'expired' }, now()),
    )
    if (stored) await runner.runEffects(stored)
  }
}
