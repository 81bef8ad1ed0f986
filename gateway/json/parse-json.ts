import { isUtf8 } from 'node:buffer'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { type JsonMeasures, measureJson, type Spans } from './measure-json.ts'

/**
 * A JSON value as `parseJson` returns it. An integer literal is a number while it is a safe integer, otherwise a
 * bigint; with more than 19 digits it is ±10^19. A number written in any other way (`100.0`, `1e2`) is ±0.5, so that no
 * check accepts it as an integer.
 */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject

/** A parsed object. Every key is an own property, `__proto__` included: test for keys with `Object.hasOwn`. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** The deepest nesting of arrays and objects that is accepted (E4). */
export const DEPTH_MAX = 32

/**
 * The most values in a body, far above what any method takes (E4). A new key costs up to 1 µs, so a body of 1 MiB would
 * keep the process busy for 0.1 s.
 */
export const VALUES_MAX = 10_000

/**
 * Parses a body strictly (E4). Throws 1005 at `body` for bytes that are not UTF-8, a byte order mark, invalid JSON, nesting
 * deeper than `DEPTH_MAX`, more than `VALUES_MAX` values, or a key that occurs twice in one object, in whatever spelling.
 */
export function parseJson(body: Buffer): Json {
  if (!isUtf8(body)) throw fieldError(1005, 'body')
  const measures = measureJson(body, VALUES_MAX)
  const { depth, values, keys } = measures
  if (depth > DEPTH_MAX || values > VALUES_MAX) throw fieldError(1005, 'body')
  const value = parseNumbers(body, measures)
  // JSON.parse keeps only one of several equal keys, so a repeated key leaves fewer keys than colons in the text.
  if (keys > 0 && countKeys(value) !== keys) throw fieldError(1005, 'body')
  return value
}

/**
 * `JSON.parse` alone rounds long integers and cannot tell `100.0` from `100`. Its reviver sees the literals, but takes
 * three to twelve times as long as placeholders do.
 */
function parseNumbers(body: Buffer, { fractions, long_integers }: JsonMeasures): Json {
  if (fractions.length === 0 && long_integers.length === 0) return parse(body)
  const text = Buffer.from(body)
  writePlaceholders(text, fractions, long_integers)
  const value = parse(text)
  return long_integers.length === 0 ? value : restoreIntegers(value, readIntegers(body, long_integers))
}

function parse(text: Buffer): Json {
  try {
    return JSON.parse(text.toString('utf8'))
  } catch (cause) {
    // The parser's own message quotes the text, so it is dropped.
    if (cause instanceof SyntaxError) throw fieldError(1005, 'body')
    throw cause
  }
}

/** Recursion is safe here: the depth has been checked. */
function countKeys(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countKeys(item)
    return count
  }
  const object = value as JsonObject
  for (const key in object) {
    count += 1
    const inner = object[key]
    if (typeof inner === 'object') count += countKeys(inner)
  }
  return count
}

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
function writePlaceholders(text: Buffer, fractions: Spans, long_integers: Spans): void {
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
function readIntegers(text: Buffer, long_integers: Spans): readonly (number | bigint)[] {
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
function restoreIntegers(value: Json, integers: readonly (number | bigint)[]): Json {
  if (typeof value === 'number') return integers[placeholderIndex(value)] ?? value
  if (typeof value !== 'object' || value === null) return value
  const parts = value as Record<string, Json>
  for (const key of Object.keys(parts)) {
    const part = parts[key] as Json
    const is_placeholder = typeof part === 'number' && !Number.isInteger(part)
    if (is_placeholder || typeof part === 'object') parts[key] = restoreIntegers(part, integers)
  }
  return value
}

/** The index of the integer that a placeholder stands for; -1 for any other number. */
function placeholderIndex(value: number): number {
  return Number.isInteger(value) ? -1 : Math.trunc(Math.abs(value)) - 1
}
