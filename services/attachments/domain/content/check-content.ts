import type { AttachmentType, RejectionReason } from '#lib/contract/attachments.ts'
import { isWholeJpeg } from './jpeg.ts'
import { HEAD_BYTES, hasTypeOf } from './magic-bytes.ts'
import { checkPdf } from './pdf.ts'
import { isWholePng } from './png.ts'
import { checkText } from './text.ts'
import { isWholeWebp } from './webp.ts'
import { endsAsZip } from './zip.ts'

/** The check of each type: the reason for which the content must be rejected, or `undefined`. */
const CHECKS: Readonly<Record<AttachmentType, (content: Buffer) => RejectionReason | undefined>> = {
  'application/pdf': checkPdf,
  'image/png': (content) => (isWholePng(content) ? undefined : 'malformed'),
  'image/jpeg': (content) => (isWholeJpeg(content) ? undefined : 'malformed'),
  'image/webp': (content) => (isWholeWebp(content) ? undefined : 'malformed'),
  'text/plain': checkText,
  'text/csv': checkText,
}

/**
 * Checks that a whole file is of its type from the first byte to the last, and nothing else too: a polyglot hides a second
 * file behind the end of the first one, or an archive that programs find from the end. Returns the reason for which
 * the file must be rejected. It never throws, whatever the bytes are.
 */
export function checkContent(content: Buffer, type: AttachmentType): RejectionReason | undefined {
  if (!hasTypeOf(content.subarray(0, HEAD_BYTES), type)) return 'wrong_type'
  if (endsAsZip(content)) return 'malformed'
  return CHECKS[type](content)
}
