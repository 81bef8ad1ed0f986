import type { Environment } from '#lib/contract/environment.ts'
import { AMOUNT_MAX, INT64_MAX, INT64_MIN, isCurrencyCode } from '#lib/contract/money.ts'
import { report } from './inspection.ts'
import type { Json } from './parse.ts'
import type { Schema, TextShape } from './schema.ts'

/** A rule about a text beyond its length. */
export interface TextFormat {
  readonly name: string
  /** What of the rule a regular expression can say. Only the flag `u`: JSON Schema knows no other. */
  readonly pattern: RegExp
  /** What JSON Schema calls texts of this kind, if it has a name for them. */
  readonly json_format?: 'idn-email' | 'iri'
  readonly test: (text: string, environment: Environment) => boolean
}

/** Makes a format whose test is its pattern and, if given, what the pattern cannot say. */
export function textFormat({
  also,
  ...format
}: Omit<TextFormat, 'test'> & { readonly also?: TextFormat['test'] }): TextFormat {
  const { pattern } = format
  const test: TextFormat['test'] = also
    ? (text, environment) => pattern.test(text) && also(text, environment)
    : (text) => pattern.test(text)
  return { ...format, test }
}

/** The bounds of a text, in code points. */
export interface TextRule {
  readonly min?: number
  readonly max: number
  readonly format?: TextFormat
}

/** A text. Another type is 1005; a wrong length or format, a lone surrogate or U+0000 is 9000 (E5). */
export function text({ min = 0, max, format }: TextRule): Schema<string, 'required'> {
  return {
    shape: { type: 'text', min, max, ...wordsOf(format) },
    presence: 'required',
    check(value, inspection) {
      if (typeof value !== 'string') return report(inspection, 1005)
      const sound = isSound(value) && isWithin(value, min, max)
      if (sound && (format === undefined || format.test(value, inspection.environment))) return value
      return report(inspection, 9000)
    },
  }
}

/** What `isSound` says, as a pattern. A format's own pattern says no less. */
const SOUND_PATTERN = '^[^\\u0000\\p{Cs}]*$'

function wordsOf(format: TextFormat | undefined): Pick<TextShape, 'pattern' | 'format'> {
  if (format === undefined) return { pattern: SOUND_PATTERN }
  const { json_format } = format
  return { pattern: sourceOf(format.pattern), ...(json_format === undefined ? {} : { format: json_format }) }
}

/** A slash is escaped in a literal of JavaScript only. */
function sourceOf({ source }: RegExp): string {
  return source.replaceAll('\\/', '/')
}

/** A lone surrogate cannot be kept as UTF-8, and U+0000 ends a text for too much software. */
function isSound(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0')
}

/** Code points are counted only where the answer is not plain from the number of UTF-16 units. */
function isWithin(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > 2 * max) return false
  if (value.length <= max && value.length >= 2 * min) return true
  let count = 0
  for (const _ of value) count += 1
  return count >= min && count <= max
}

/** An amount in minor units (E6): anything but an integer literal is 1005, one that cannot be paid 6001. */
export function amount(): Schema<bigint, 'required'> {
  return {
    shape: { type: 'integer', min: 1n, max: AMOUNT_MAX },
    presence: 'required',
    check(value, inspection) {
      const integer = toInteger(value)
      if (integer === undefined) return report(inspection, 1005)
      if (integer >= 1n && integer <= AMOUNT_MAX) return integer
      return report(inspection, 6001)
    },
  }
}

/** An ISO 4217 code; any other text is 1010 (E6). Whether it is the route's is for payments to say. */
export function currency(): Schema<string, 'required'> {
  return {
    shape: { type: 'text', min: 3, max: 3, pattern: '^[A-Z]{3}$' },
    presence: 'required',
    check(value, inspection) {
      if (typeof value !== 'string') return report(inspection, 1005)
      if (!isSound(value)) return report(inspection, 9000)
      return isCurrencyCode(value) ? value : report(inspection, 1010)
    },
  }
}

/** No route has this number, so whoever looks it up answers 1004. */
const NO_ROUTE = '0'
const INTEGER_TEXT = /^-?(0|[1-9][0-9]{0,39})$/

/**
 * The number of a route, as digits; an integer or the same as a text (spec: Request envelope). One beyond 64 bits is
 * in shape and names no route; a text that would be unsound anywhere is 9000 here too (E5).
 */
export function serviceId(): Schema<string, 'required'> {
  return {
    shape: { type: 'integer', text_pattern: sourceOf(INTEGER_TEXT) },
    presence: 'required',
    check(value, inspection) {
      if (typeof value === 'string' && !isSound(value)) return report(inspection, 9000)
      const integer = typeof value === 'string' && INTEGER_TEXT.test(value) ? BigInt(value) : toInteger(value)
      if (integer === undefined) return report(inspection, 1005)
      return integer >= INT64_MIN && integer <= INT64_MAX ? integer.toString() : NO_ROUTE
    },
  }
}

function toInteger(value: Json): bigint | undefined {
  if (typeof value === 'bigint') return value
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined
}
