import {
  ATTACHMENT_MAX_BYTES,
  ATTACHMENT_NAME_MAX_BYTES,
  ATTACHMENT_TYPES,
  isAttachmentName,
  isAttachmentType,
  SHA256_DIGEST,
} from '#lib/contract/attachments.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import type { NewFile } from './session.ts'

/** A file as a request announces it. */
export interface AnnouncedFile {
  readonly name: string
  readonly mime_type: string
  readonly size_bytes: bigint
  readonly sha256: string
}

/** Checks what a sender announces (F4, F6). Throws 9000 with the path of the first field that is wrong. */
export function checkNewFile({ name, mime_type, size_bytes, sha256 }: AnnouncedFile): NewFile {
  if (!isAttachmentName(name))
    throw fieldError(
      9000,
      'file.name',
      `1 to ${ATTACHMENT_NAME_MAX_BYTES} bytes, without separators of paths`,
    )
  if (!isAttachmentType(mime_type))
    throw fieldError(9000, 'file.mime_type', `one of ${Object.keys(ATTACHMENT_TYPES).join(', ')}`)
  if (size_bytes < 1n || size_bytes > BigInt(ATTACHMENT_MAX_BYTES))
    throw fieldError(9000, 'file.size_bytes', `1 to ${ATTACHMENT_MAX_BYTES}`)
  if (!SHA256_DIGEST.test(sha256)) throw fieldError(9000, 'file.sha256', '64 lower-case hexadecimal digits')
  return { name, mime_type, size_bytes: Number(size_bytes), sha256 }
}
