import { ATTACHMENT_TYPES, type AttachmentType } from '#lib/contract/attachments.ts'

/** Characters that need no encoding in `filename*` (RFC 8187). */
const PLAIN = /[A-Za-z0-9!#$&+.^_`|~-]/
/** Characters that every client reads in the quoted `filename`. */
const NOT_QUOTABLE = /[^ !#-[\]-~]|%/g

/**
 * The header `Content-Disposition` of a download (F6, RFC 6266): it is saved and never shown, under the name that its
 * sender gave it. A name without an ending of its type gets one, so that no system runs or renders the saved file as
 * something else.
 */
export function contentDisposition(given_name: string, type: AttachmentType): string {
  const endings: readonly string[] = ATTACHMENT_TYPES[type]
  const has_ending = endings.some((ending) => given_name.toLowerCase().endsWith(ending))
  const name = has_ending ? given_name : given_name + (endings[0] ?? '')
  return `attachment; filename="${name.replaceAll(NOT_QUOTABLE, '_')}"; filename*=UTF-8''${percentEncoded(name)}`
}

function percentEncoded(name: string): string {
  return [...new TextEncoder().encode(name)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return PLAIN.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}
