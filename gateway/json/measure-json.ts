/** The result of one pass over a JSON text before parsing. For a text that is not JSON the figures mean nothing. */
export interface JsonMeasures {
  /** The deepest nesting of arrays and objects. */
  readonly depth: number
  /** The number of values: texts, numbers, literals, arrays and objects, the whole text included. */
  readonly values: number
  /** The number of keys in all objects together; a repeated key counts each time. */
  readonly keys: number
  /** The numbers written with a decimal point or an exponent. */
  readonly fractions: Spans
  /** The integers that a double may not hold exactly: 17 or more characters, or 16 that begin with a 9. */
  readonly long_integers: Spans
}

/** Start and end offsets of tokens, in turns. The list is flat because it can be very long. */
export type Spans = readonly number[]

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const PLUS = 0x2b
const MINUS = 0x2d
const POINT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const OPEN_ARRAY = 0x5b
const OPEN_OBJECT = 0x7b
const CLOSE_ARRAY = 0x5d
const CLOSE_OBJECT = 0x7d
/** The first letters of `false`, `null` and `true`; each occurs once in the three words together. */
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74

/** An integer of at most this length is exact as a double, unless it begins with a 9: 2^53 - 1 is 9007199254740991. */
const EXACT_LENGTH_MAX = 16

/**
 * Measures a JSON text in one pass over its bytes. Everything that it lists is a complete number by the grammar of JSON,
 * even in a text that is not JSON. Bytes beyond ASCII need no care: in valid JSON they occur only inside strings. It stops
 * when the text has more than `values_max` values; the other figures are of the part before that.
 */
export function measureJson(bytes: Uint8Array, values_max: number): JsonMeasures {
  const end = bytes.length
  const fractions: number[] = []
  const long_integers: number[] = []
  let depth = 0
  let open = 0
  let keys = 0
  let values = 0
  // A key counts as a value until its colon shows that it is none.
  for (let at = 0; at < end && values <= values_max + 1; at += 1) {
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1)
      values += 1
    } else if (byte === COLON) {
      keys += 1
      values -= 1
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      open += 1
      values += 1
      if (open > depth) depth = open
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      open -= 1
    } else if ((byte >= DIGIT_0 && byte <= DIGIT_9) || byte === MINUS) {
      const integer_end = endOfDigits(bytes, at + 1)
      const number_end = endOfNumber(bytes, integer_end)
      if (number_end > integer_end) {
        if (isNumber(bytes, at, integer_end, number_end)) fractions.push(at, number_end)
      } else if (isLong(integer_end - at, byte) && isNumber(bytes, at, integer_end, number_end)) {
        long_integers.push(at, number_end)
      }
      at = number_end - 1
      values += 1
    } else if (byte === LETTER_F || byte === LETTER_N || byte === LETTER_T) {
      values += 1
    }
  }
  return { depth, values, keys, fractions, long_integers }
}

/** The offset of the closing quote of the string whose content begins at `start`. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start
  for (;;) {
    const byte = bytes[at]
    if (byte === QUOTE || byte === undefined) return at
    at += byte === BACKSLASH ? 2 : 1
  }
}

function endOfDigits(bytes: Uint8Array, start: number): number {
  let at = start
  for (;;) {
    const byte = bytes[at]
    if (byte === undefined || byte < DIGIT_0 || byte > DIGIT_9) return at
    at += 1
  }
}

function isLong(length: number, first: number): boolean {
  return length > EXACT_LENGTH_MAX || (length === EXACT_LENGTH_MAX && first === DIGIT_9)
}

/** The end of the number whose integer part ends at `integer_end`. A point or exponent without digits is not part of it. */
function endOfNumber(bytes: Uint8Array, integer_end: number): number {
  let end = integer_end
  if (bytes[end] === POINT) {
    const digits_end = endOfDigits(bytes, end + 1)
    if (digits_end === end + 1) return end
    end = digits_end
  }
  if (bytes[end] === 0x65 || bytes[end] === 0x45) {
    const sign = bytes[end + 1]
    const digits = sign === PLUS || sign === MINUS ? end + 2 : end + 1
    const digits_end = endOfDigits(bytes, digits)
    if (digits_end > digits) return digits_end
  }
  return end
}

/** Whether the range holds a digit, has no leading zero, and is not followed by more of a (malformed) number. */
function isNumber(bytes: Uint8Array, start: number, integer_end: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start
  const after = bytes[end]
  if (after === POINT || after === 0x65 || after === 0x45) return false
  return integer_end === first + 1 || (integer_end > first && bytes[first] !== DIGIT_0)
}
