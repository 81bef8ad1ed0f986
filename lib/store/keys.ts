/**
 * Text encoding of keys. Its byte order is the order of an index: a key is its parts joined by a space, which sorts
 * before every character of a part, so comparing two keys compares their parts one by one. Both adapters use it: the
 * embedded store for all keys and index entries, MongoDB for `_id`. Operators can read it.
 */

/** A value that an index can order. `null` also stands for an absent field and sorts first. */
export type KeyPart = string | number | bigint | Date | null

/** The longest key or index entry in bytes, including the document's key. LMDB allows 1,978; we add a prefix. */
export const KEY_BYTES_MAX = 1_950

/** The key texts before and after all values of one type. */
interface Kind {
  readonly first: string
  readonly past: string
}

const NUMBER: Kind = { first: '#', past: '$' }
const TEXT: Kind = { first: '=', past: '>' }
const INSTANT: Kind = { first: '@', past: 'A' }
const NULL = '"'
// Space separates and `!` escapes, so every character up to `!` is escaped; U+0000 becomes `!0`.
// biome-ignore lint/suspicious/noControlCharactersInRegex: keys may hold any text
const LOW = /[\u0000-!]/g
const ESCAPED_ZERO = 0x30
/** ASCII without characters to escape. Nearly every part is, and this test takes a third of the time of the replacement. */
const PLAIN = /^["-~]*$/

/** Encodes one part. Throws `TypeError` for a value that the stores would order differently. */
export function keyPartText(value: unknown): string {
  if (typeof value === 'string') return TEXT.first + escaped(value)
  if (typeof value === 'number' || typeof value === 'bigint') return NUMBER.first + integerText(value)
  if (value instanceof Date) return INSTANT.first + integerText(value.getTime())
  if (value === null || value === undefined) return NULL
  throw new TypeError(`a key or an index can hold strings, integers and dates, not ${typeof value}`)
}

/** Decodes a part that holds text. Throws `TypeError` for any other part. */
export function textOfKeyPart(part: string): string {
  if (!part.startsWith(TEXT.first)) throw new TypeError(`the key part ${part} is not text`)
  return part
    .slice(TEXT.first.length)
    .replace(/!(.)/g, (_, low: string) => String.fromCharCode(low.charCodeAt(0) - ESCAPED_ZERO))
}

/** Encodes several parts as one key. */
export function keyPartsText(values: readonly unknown[]): string {
  let text = ''
  for (const value of values) text = text === '' ? keyPartText(value) : `${text} ${keyPartText(value)}`
  return text
}

/** The range of all values with the type of `value`: the open end of a range that is bounded on one side. */
export function kindRange(value: KeyPart): Kind {
  if (typeof value === 'string') return TEXT
  return value instanceof Date ? INSTANT : NUMBER
}

/** Throws `TypeError` for a key, or an index entry with its key, that is too long for the embedded store. */
export function checkKeyLength(...texts: readonly string[]): void {
  const text = texts.length === 1 ? (texts[0] ?? '') : texts.join(' ')
  if (text.length * 3 <= KEY_BYTES_MAX) return
  const size_bytes = Buffer.byteLength(text)
  if (size_bytes > KEY_BYTES_MAX) {
    throw new TypeError(`a key or index entry has ${size_bytes} bytes; at most ${KEY_BYTES_MAX} are allowed`)
  }
}

function escaped(text: string): string {
  if (PLAIN.test(text)) return text
  if (!text.isWellFormed()) throw new TypeError('a key holds half of a surrogate pair')
  return text.replace(LOW, (low) => `!${String.fromCharCode(ESCAPED_ZERO + low.charCodeAt(0))}`)
}

/**
 * Encodes an integer so that text order is number order: a letter for the number of digits, then the digits. Letters
 * are `a` to `s` for 1 to 19 digits. Negative numbers use `Z` down to `H` and the complement of each digit.
 */
function integerText(value: number | bigint): string {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new TypeError('a number in a key or an index must be a safe integer')
  }
  const digits = String(value)
  if (!digits.startsWith('-')) return String.fromCharCode(96 + digits.length) + digits
  const complement = digits.slice(1).replace(/\d/g, (digit) => String(9 - Number(digit)))
  return String.fromCharCode(91 - complement.length) + complement
}
