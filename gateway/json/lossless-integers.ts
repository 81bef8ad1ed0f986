import type { Spans } from './measure-json.ts'
import type { Json } from './parse-json.ts'

const SPACE = 0x20
const MINUS = 0x2d
const POINT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_5 = 0x35

/** An integer with more digits does not fit 64 bits. All such integers get the same value. */
const INT64_LENGTH_MAX = 19
const BEYOND_INT64 = 10n ** BigInt(INT64_LENGTH_MAX)

/** This many digits are exact as a double. Building a bigint from two such halves is twice as fast as from its text. */
const HALF_LENGTH = 15
const HALF_BASE = 10 ** HALF_LENGTH
const HALF_BASE_BIGINT = BigInt(HALF_BASE)

/**
 * Overwrites the numbers that `JSON.parse` would change. The long integer at position `n` of the list becomes the
 * placeholder `n + 1.5`, which is never longer. Every fraction becomes 0.5, because only the fact that it is a fraction
 * counts. Signs stay. Afterwards the text has no other fractions, so a client cannot forge a placeholder. Only complete
 * numbers are overwritten, so valid JSON stays valid and invalid JSON stays invalid.
 */
export function writePlaceholders(text: Buffer, fractions: Spans, long_integers: Spans): void {
  for (let index = 0; index < fractions.length; index += 2) {
    overwriteNumber(text, 0, fractions[index] as number, fractions[index + 1] as number)
  }
  for (let index = 0; index < long_integers.length; index += 2) {
    overwriteNumber(text, index / 2 + 1, long_integers[index] as number, long_integers[index + 1] as number)
  }
}

/** Overwrites a number with `integer` + 0.5 and pads it with spaces. */
function overwriteNumber(text: Buffer, integer: number, start: number, end: number): void {
  let at = text[start] === MINUS ? start + 1 : start
  let unit = 1
  while (unit * 10 <= integer) unit *= 10
  let rest = integer
  for (; unit >= 1; unit = Math.trunc(unit / 10)) {
    const digit = Math.trunc(rest / unit)
    text[at] = DIGIT_0 + digit
    rest -= digit * unit
    at += 1
  }
  text[at] = POINT
  text[at + 1] = DIGIT_5
  for (at += 2; at < end; at += 1) text[at] = SPACE
}

/** Reads the long integers in their order. ±10^19 stands for every integer with more than 19 digits. */
export function readIntegers(text: Buffer, long_integers: Spans): readonly (number | bigint)[] {
  const integers: (number | bigint)[] = []
  for (let index = 0; index < long_integers.length; index += 2) {
    integers.push(readInteger(text, long_integers[index] as number, long_integers[index + 1] as number))
  }
  return integers
}

function readInteger(text: Buffer, start: number, end: number): number | bigint {
  const negative = text[start] === MINUS
  const first = negative ? start + 1 : start
  if (end - first > INT64_LENGTH_MAX) return negative ? -BEYOND_INT64 : BEYOND_INT64
  const middle = end - HALF_LENGTH
  const high = readDigits(text, first, middle)
  const low = readDigits(text, middle, end)
  const number = high * HALF_BASE + low
  if (Number.isSafeInteger(number)) return negative ? -number : number
  const integer = BigInt(high) * HALF_BASE_BIGINT + BigInt(low)
  return negative ? -integer : integer
}

function readDigits(text: Buffer, start: number, end: number): number {
  let value = 0
  for (let at = start; at < end; at += 1) value = value * 10 + (text[at] as number) - DIGIT_0
  return value
}

/** Replaces the placeholders in a parsed value with their integers. Recursion is safe: the depth has been checked. */
export function restoreIntegers(value: Json, integers: readonly (number | bigint)[]): Json {
  if (typeof value === 'number') return integers[placeholderIndex(value)] ?? value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) restoreInArray(value, integers)
  else restoreInObject(value as Record<string, Json>, integers)
  return value
}

function restoreInArray(array: Json[], integers: readonly (number | bigint)[]): void {
  for (let index = 0; index < array.length; index += 1) {
    const value = array[index] as Json
    if (typeof value === 'number') {
      if (!Number.isInteger(value)) array[index] = integers[placeholderIndex(value)] ?? value
    } else if (typeof value === 'object') restoreIntegers(value, integers)
  }
}

function restoreInObject(object: Record<string, Json>, integers: readonly (number | bigint)[]): void {
  for (const key in object) {
    const value = object[key] as Json
    if (typeof value === 'number') {
      if (!Number.isInteger(value)) object[key] = integers[placeholderIndex(value)] ?? value
    } else if (typeof value === 'object') restoreIntegers(value, integers)
  }
}

/** The index of the integer that a placeholder stands for; -1 for any other number. */
function placeholderIndex(value: number): number {
  return Number.isInteger(value) ? -1 : Math.trunc(Math.abs(value)) - 1
}
