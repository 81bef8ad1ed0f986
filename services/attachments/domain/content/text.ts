import { isUtf8 } from 'node:buffer'
import type { RejectionReason } from '#lib/contract/attachments.ts'

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
export function checkText(content: Buffer): RejectionReason | undefined {
  if (!isUtf8(content)) return 'malformed'
  const text = content.toString('utf8')
  if (CONTROL.test(text)) return 'malformed'
  return MARKUP.test(text) ? 'wrong_type' : undefined
}
