/** What a look over the bytes of a JSON text tells before it is parsed. Of a text that is not JSON it tells nothing. */
export interface Scan {
  /** How deep arrays and objects are nested. */
  readonly depth: number
  /** How many keys are written in all objects together, a repeated one each time. */
  readonly keys: number
  /** The numbers that are written with a point or an exponent. */
  readonly fractions: Spans
  /** The integers that a double may not hold exactly: of 17 characters and more, or 16 with a 9 in front. */
  readonly long_integers: Spans
}

/** Where each of some tokens begins and where it ends, in turns: a flat list, as there may be very many. */
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

/** Integers of so many characters are exact as doubles, unless they begin with a 9: 2^53 - 1 is 9007199254740991. */
const PLAIN_LENGTH_MAX = 16

/**
 * One pass over the bytes, building nothing but the list of odd numbers. What is listed is a whole number by the
 * grammar of JSON, also in a text that is not JSON. Every byte of UTF-8 beyond ASCII lies inside a string.
 */
export function scanJson(bytes: Uint8Array): Scan {
  const end = bytes.length
  const fractions: number[] = []
  const long_integers: number[] = []
  let depth = 0
  let depth_now = 0
  let keys = 0
  for (let at = 0; at < end; at += 1) {
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1)
    } else if (byte === COLON) {
      keys += 1
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth_now += 1
      if (depth_now > depth) depth = depth_now
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth_now -= 1
    } else if ((byte >= DIGIT_0 && byte <= DIGIT_9) || byte === MINUS) {
      const integer_end = endOfDigits(bytes, at + 1)
      const number_end = endOfNumber(bytes, integer_end)
      if (number_end > integer_end) {
        if (isNumber(bytes, at, integer_end, number_end)) fractions.push(at, number_end)
      } else if (isLong(integer_end - at, byte) && isNumber(bytes, at, integer_end, number_end)) {
        long_integers.push(at, number_end)
      }
      at = number_end - 1
    }
  }
  return { depth, keys, fractions, long_integers }
}

/** Where the string that begins before `at` has its closing quote. */
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
  return length > PLAIN_LENGTH_MAX || (length === PLAIN_LENGTH_MAX && first === DIGIT_9)
}

/** Where the number ends whose integer part ends here. A part that lacks its digits does not belong to it. */
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

/** Whether there is a digit, no leading zero, and no more after the end that would belong to a number. */
function isNumber(bytes: Uint8Array, start: number, integer_end: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start
  const after = bytes[end]
  if (after === POINT || after === 0x65 || after === 0x45) return false
  return integer_end === first + 1 || (integer_end > first && bytes[first] !== DIGIT_0)
}
