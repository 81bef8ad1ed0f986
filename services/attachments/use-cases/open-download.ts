import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { AttachmentLink } from '#lib/patterns/attachment-link.ts'
import { type Attachment, statusAt } from '../domain/attachment.ts'
import type { AttachmentsDeps } from './deps.ts'
import { getAttachment } from './get-attachment.ts'
import { readBytes } from './read-bytes.ts'

/** An attachment and its bytes, which are read as they are taken. */
export interface Download {
  readonly attachment: Attachment
  readonly bytes: AsyncIterable<Uint8Array>
}

/** Opens a ready attachment for the holder of a link. Throws 13001 for every other one. */
export async function openDownload(
  deps: Pick<AttachmentsDeps, 'attachments' | 'files'>,
  link: AttachmentLink,
): Promise<Download> {
  const attachment = await getAttachment(deps, link)
  const { upload } = attachment
  if (statusAt(attachment, now()) !== 'ready' || upload === undefined) throw new PublicError(13001)
  return { attachment, bytes: await readBytes(deps.files, upload.blob_id) }
}
