import { isUtf8 } from 'node:buffer'
import type { AttachmentType, RejectionReason } from '#lib/contract/attachments.ts'
import { isWholeJpeg, isWholePng, isWholeWebp } from './images.ts'
import { checkPdf } from './pdf.ts'

/** What the inspection of a file found: why it must be rejected, and whether a spreadsheet would run cells of a CSV. */
export interface Inspection {
  readonly reason: RejectionReason | undefined
  readonly has_formulas: boolean
}

/**
 * A cell that begins with `=`, `+`, `-` or `@`, also in full width, and is not a plain number. Cells begin behind any of the
 * usual delimiters. White space has one place in it, or a file of blanks would be read again at each of them.
 */
const FORMULA =
  /(?:^|[,;|\t\r\n])[^\S\t\r\n]*(?:"\s*)?(?:[=@\uff1d\uff20\uff0b\uff0d]|[+-](?!\d[\d.]* *(?:[",;|\t\r\n]|$)))/

/** Inspects a whole file. A CSV with formulas is accepted and marked for its readers (F3). */
export function inspectContent(content: Buffer, type: AttachmentType): Inspection {
  const reason = checkContent(content, type)
  const has_formulas = reason === undefined && type === 'text/csv' && FORMULA.test(content.toString('utf8'))
  return { reason, has_formulas }
}

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

/** The end record of a zip archive: its signature, 18 bytes, and a comment of up to 65,535 bytes. */
const END_RECORD = Buffer.from('PK\x05\x06', 'latin1')
const END_RECORD_BYTES = 22
const COMMENT_LENGTH_AT = 20
const COMMENT_MAX_BYTES = 0xffff

/**
 * Whether programs would find a zip archive (also a JAR or an office document) in these bytes. They look for the end
 * record from the back, so an archive can be added to nearly every format, with the end of that format as its comment.
 */
function endsAsZip(content: Buffer): boolean {
  const first = Math.max(0, content.length - END_RECORD_BYTES - COMMENT_MAX_BYTES)
  for (let at = content.indexOf(END_RECORD, first); at >= 0; at = content.indexOf(END_RECORD, at + 1)) {
    const comment_at = at + END_RECORD_BYTES
    if (comment_at > content.length) return false
    // Programs differ in whether the comment must reach the end exactly, so a shorter one counts too.
    if (comment_at + content.readUInt16LE(at + COMMENT_LENGTH_AT) <= content.length) return true
  }
  return false
}

/** Control characters that no text has: all but tab, line feed, form feed and carriage return. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x08\x0b\x0e-\x1f\x7f]/

/** What browsers and viewers render as a document, whatever its declared type. */
const MARKUP =
  /^\s*<(?:!doctype|!--|\?xml|html|head|body|svg|script|iframe|style|title|table|a|img|meta|link|object|embed|form)\b/i

/**
 * Accepts UTF-8 text without control characters, with or without a byte order mark. Text that begins as markup is of
 * another type.
 */
function checkText(content: Buffer): RejectionReason | undefined {
  if (!isUtf8(content)) return 'malformed'
  const text = content.toString('utf8')
  if (CONTROL.test(text)) return 'malformed'
  return MARKUP.test(text) ? 'wrong_type' : undefined
}
