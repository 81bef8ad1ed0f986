import type { Json } from './parse.ts'
import type { Spans } from './scan.ts'

const SPACE = 0x20
const MINUS = 0x2d
const POINT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_5 = 0x35

/** No longer integer has 64 bits; to every rule they are all alike. */
const INT64_LENGTH_MAX = 19
const BEYOND_INT64 = 10n ** BigInt(INT64_LENGTH_MAX)

/** So many digits are exact as a double; two such halves are a bigint in half the time that their text takes. */
const HALF_LENGTH = 15
const HALF = 10 ** HALF_LENGTH
const EXACT_HALF = BigInt(HALF)

/**
 * Overwrites every fraction by 0.5, with its sign, and the integer at index `n` by `n + 1.5`. There is always room, and
 * no fraction is left but these: so nothing else that a client can write is taken for a stand-in. The text stays JSON
 * if it was, and does not become JSON if it was not, because signs stay and only whole numbers are overwritten.
 */
export function writeStandIns(text: Buffer, fractions: Spans, long_integers: Spans): void {
  for (let index = 0; index < fractions.length; index += 2) {
    writeHalf(text, 0, fractions[index] as number, fractions[index + 1] as number)
  }
  for (let index = 0; index < long_integers.length; index += 2) {
    writeHalf(text, index / 2 + 1, long_integers[index] as number, long_integers[index + 1] as number)
  }
}

/** Writes the integer and a half over a number, then blanks. */
function writeHalf(text: Buffer, integer: number, start: number, end: number): void {
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

/** What the integers are, in their order: 10^19 stands for all that have more digits than one of 64 bits. */
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
  const number = high * HALF + low
  if (Number.isSafeInteger(number)) return negative ? -number : number
  const integer = BigInt(high) * EXACT_HALF + BigInt(low)
  return negative ? -integer : integer
}

function readDigits(text: Buffer, start: number, end: number): number {
  let value = 0
  for (let at = start; at < end; at += 1) value = value * 10 + (text[at] as number) - DIGIT_0
  return value
}

/** Puts the integers back into a value where their stand-ins are. Recursion is safe: the depth has been checked. */
export function putBack(value: Json, integers: readonly (number | bigint)[]): Json {
  if (typeof value === 'number') return integers[standsFor(value)] ?? value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) putBackIntoArray(value, integers)
  else putBackIntoObject(value as Record<string, Json>, integers)
  return value
}

function putBackIntoArray(array: Json[], integers: readonly (number | bigint)[]): void {
  for (let index = 0; index < array.length; index += 1) {
    const value = array[index] as Json
    if (typeof value === 'number') {
      if (!Number.isInteger(value)) array[index] = integers[standsFor(value)] ?? value
    } else if (typeof value === 'object') putBack(value, integers)
  }
}

function putBackIntoObject(object: Record<string, Json>, integers: readonly (number | bigint)[]): void {
  for (const key in object) {
    const value = object[key] as Json
    if (typeof value === 'number') {
      if (!Number.isInteger(value)) object[key] = integers[standsFor(value)] ?? value
    } else if (typeof value === 'object') putBack(value, integers)
  }
}

/** The index of the integer; -1 of a number that stands for none. */
function standsFor(value: number): number {
  return Number.isInteger(value) ? -1 : Math.trunc(Math.abs(value)) - 1
}
