/**
 * The text that orders values as an index does. A key is its parts joined by a space, the lowest character that a
 * part can hold, so that comparing the UTF-8 of two keys compares their parts one after the other. Both adapters use
 * it: the embedded one for every key and entry, MongoDB for `_id`. It stays readable to an operator.
 */

/** A value that an index can order; `null` stands for an absent field too, and comes first. */
export type KeyPart = string | number | bigint | Date | null

/** Longest key or index entry in bytes, the document's key included (LMDB takes 1,978, and we prefix some). */
export const KEY_BYTES_MAX = 1_950

/** Lies between every part of its kind and every part of the next: marks where the kind begins and ends. */
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

/** The text of one part. Throws `TypeError` for what cannot be ordered alike in every store. */
export function keyPartText(value: unknown): string {
  if (typeof value === 'string') return TEXT.first + escaped(value)
  if (typeof value === 'number' || typeof value === 'bigint') return NUMBER.first + integerText(value)
  if (value instanceof Date) return INSTANT.first + integerText(value.getTime())
  if (value === null || value === undefined) return NULL
  throw new TypeError(`a key or an index holds strings, integers and dates, not ${typeof value}`)
}

/** Several parts as one key. */
export function keyPartsText(values: readonly unknown[]): string {
  let text = ''
  for (const value of values) text = text === '' ? keyPartText(value) : `${text} ${keyPartText(value)}`
  return text
}

/** Where the values of the same kind as `value` begin and end, as the end of a range that is open on one side. */
export function kindRange(value: KeyPart): Kind {
  if (typeof value === 'string') return TEXT
  return value instanceof Date ? INSTANT : NUMBER
}

/** Throws `TypeError` for a key (or entry with its key) that the embedded store could not hold. */
export function checkKeyLength(...texts: readonly string[]): void {
  const text = texts.length === 1 ? (texts[0] ?? '') : texts.join(' ')
  if (text.length * 3 <= KEY_BYTES_MAX) return
  const size_bytes = Buffer.byteLength(text)
  if (size_bytes > KEY_BYTES_MAX) {
    throw new TypeError(`a key or index entry takes ${size_bytes} bytes, at most ${KEY_BYTES_MAX} fit`)
  }
}

function escaped(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('a key holds half of a surrogate pair')
  return text.replace(LOW, (low) => `!${String.fromCharCode(ESCAPED_ZERO + low.charCodeAt(0))}`)
}

/**
 * Digits after a letter that tells how many, so that the order of text is that of numbers: `a` to `s` for 1 to 19
 * digits; below zero `Z` down to `H`, with each digit's complement.
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
