import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Stored } from '#lib/store/store.ts'
import type { Attachment, AttachmentIdentity } from '../domain/attachment.ts'
import { keyOfAttachment } from '../store/attachments.ts'
import type { AttachmentsDeps } from './deps.ts'

/** Reads an attachment of a merchant. Throws 13001 for one that is unknown or of another merchant or environment. */
export async function getAttachment(
  { attachments }: Pick<AttachmentsDeps, 'attachments'>,
  identity: AttachmentIdentity,
): Promise<Stored<Attachment>> {
  const attachment = await attachments.get(keyOfAttachment(identity), { linearizable: true })
  if (attachment === undefined) throw new PublicError(13001)
  return attachment
}

/** How many documents are read at once for one call. */
const READS_MAX = 50

/** Reads several attachments of a merchant, in this order. Those that do not exist are left out. */
export async function getAttachments(
  { attachments }: Pick<AttachmentsDeps, 'attachments'>,
  owner: Pick<AttachmentIdentity, 'merchant_id' | 'environment'>,
  attachment_ids: readonly string[],
): Promise<readonly Attachment[]> {
  const found: Attachment[] = []
  for (let from = 0; from < attachment_ids.length; from += READS_MAX) {
    const some = attachment_ids.slice(from, from + READS_MAX)
    const read = await Promise.all(
      some.map((attachment_id) => attachments.get(keyOfAttachment({ ...owner, attachment_id }))),
    )
    found.push(...read.filter((attachment) => attachment !== undefined))
  }
  return found
}
