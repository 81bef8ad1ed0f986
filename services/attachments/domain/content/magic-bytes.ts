import type { AttachmentType } from '#lib/contract/attachments.ts'

/** How many bytes of a file `hasTypeOf` needs. */
export const HEAD_BYTES = 16

const STARTS: Readonly<Record<AttachmentType, (head: string) => boolean>> = {
  'application/pdf': (head) => /^%PDF-[12]\.\d/.test(head),
  'image/png': (head) => head.startsWith('\x89PNG\r\n\x1a\n'),
  'image/jpeg': (head) => head.startsWith('\xff\xd8\xff'),
  'image/webp': (head) => head.startsWith('RIFF') && head.startsWith('WEBP', 8),
  // A text has no signature of its own, and none of a format that is written as text.
  'text/plain': isTextHead,
  'text/csv': isTextHead,
}

/** Whether a file that begins with these bytes can be of a type. The structure of the whole file is checked later. */
export function hasTypeOf(head: Uint8Array, type: AttachmentType): boolean {
  return STARTS[type](Buffer.from(head).toString('latin1'))
}

/** Formats that begin with printable characters and that programs run or render. */
const OTHER_FORMATS = ['%PDF-', '%!PS', '{\\rtf', 'PK\x03\x04']

function isTextHead(head: string): boolean {
  return !head.includes('\0') && !OTHER_FORMATS.some((start) => head.startsWith(start))
}
