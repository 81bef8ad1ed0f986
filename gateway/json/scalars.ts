import { AMOUNT_MAX, INT64_MAX, INT64_MIN, isCurrencyCode } from '#lib/contract/money.ts'
import type { Json } from './parse-json.ts'
import type { Schema, TextShape } from './schema.ts'
import { report, type ValidationContext } from './validation.ts'

/** A rule for the content of a text, beyond its length. */
export interface TextFormat {
  /** The part of the rule that a regular expression can express. Its only flag is `u`, as JSON Schema knows no other. */
  readonly pattern: RegExp
  /** The name that JSON Schema has for such texts, if it has one. */
  readonly json_format?: 'idn-email' | 'iri'
  /** The part of the rule that a pattern cannot express. */
  readonly accepts?: (text: string, context: ValidationContext) => boolean
}

/** Whether a text has a format. */
export function matchesFormat(
  { pattern, accepts }: TextFormat,
  text: string,
  context: ValidationContext,
): boolean {
  return pattern.test(text) && (accepts === undefined || accepts(text, context))
}

/** Two names around one at sign; the domain has a dot. Whether mail arrives there cannot be checked here. */
const EMAIL =
  /^[^\s\p{Cc}\p{Cs}@"(),:;<>[\\\]]{1,64}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,63}$/u

/** An e-mail address. */
export const EMAIL_ADDRESS: TextFormat = { pattern: EMAIL, json_format: 'idn-email' }

/** Refuses what WHATWG parsing forgives: tabs, newlines, backslashes and missing slashes. */
const HTTP_URL_START = /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s\p{Cc}\p{Cs}\\]+$/u

/** An absolute http or https URL. */
export const HTTP_URL: TextFormat = {
  pattern: HTTP_URL_START,
  json_format: 'iri',
  accepts: (text) => URL.canParse(text),
}

/** A URL that callbacks may be sent to (N9). */
export const CALLBACK_URL: TextFormat = {
  pattern: HTTP_URL_START,
  json_format: 'iri',
  accepts: (text, { acceptsCallbackUrl, environment }) => acceptsCallbackUrl(text, environment),
}

/** A reference that the merchant chooses (P2): any text without control characters. */
export const REFERENCE: TextFormat = { pattern: /^[^\p{Cc}\p{Cs}]*$/u }

/** The bounds of a text. Lengths count code points. */
export interface TextRule {
  readonly min?: number
  readonly max: number
  readonly format?: TextFormat
}

/** A text. Another type is 1005; a wrong length or format, a lone surrogate or U+0000 is 9000 (E5). */
export function text({ min = 0, max, format }: TextRule): Schema<string, 'required'> {
  return {
    shape: { type: 'text', min, max, ...patternOf(format) },
    presence: 'required',
    check(value, validation) {
      if (typeof value !== 'string') return report(validation, 1005)
      const is_valid =
        isStorable(value) &&
        isLengthWithin(value, min, max) &&
        (format === undefined || matchesFormat(format, value, validation.context))
      return is_valid ? value : report(validation, 9000)
    },
  }
}

/** `isStorable` as a pattern. The pattern of every format is at least as strict. */
const STORABLE_PATTERN = '^[^\\u0000\\p{Cs}]*$'

function patternOf(format: TextFormat | undefined): Pick<TextShape, 'pattern' | 'format'> {
  if (format === undefined) return { pattern: STORABLE_PATTERN }
  const { json_format } = format
  return { pattern: sourceOf(format.pattern), ...(json_format === undefined ? {} : { format: json_format }) }
}

/** The source of a pattern for other languages: only a JavaScript literal escapes slashes. */
function sourceOf({ source }: RegExp): string {
  return source.replaceAll('\\/', '/')
}

/** A lone surrogate has no UTF-8 form, and much software takes U+0000 for the end of a text. */
function isStorable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0')
}

/** Counts code points only if the number of UTF-16 units does not decide the answer. */
function isLengthWithin(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > 2 * max) return false
  if (value.length <= max && value.length >= 2 * min) return true
  let count = 0
  for (const _ of value) count += 1
  return count >= min && count <= max
}

/** An amount in minor units (E6). Anything but an integer literal is 1005; an integer outside 1 to 2^53 - 1 is 6001. */
export function amount(): Schema<bigint, 'required'> {
  return {
    shape: { type: 'integer', min: 1n, max: AMOUNT_MAX },
    presence: 'required',
    check(value, validation) {
      const integer = toInteger(value)
      if (integer === undefined) return report(validation, 1005)
      if (integer >= 1n && integer <= AMOUNT_MAX) return integer
      return report(validation, 6001)
    },
  }
}

/** An ISO 4217 code; any other text is 1010 (E6). Payments checks that it is the currency of the route. */
export function currency(): Schema<string, 'required'> {
  return {
    shape: { type: 'text', min: 3, max: 3, pattern: '^[A-Z]{3}$' },
    presence: 'required',
    check(value, validation) {
      if (typeof value !== 'string') return report(validation, 1005)
      if (!isStorable(value)) return report(validation, 9000)
      return isCurrencyCode(value) ? value : report(validation, 1010)
    },
  }
}

/** No route has this number, so looking it up gives 1004. */
const NO_ROUTE = '0'
const INTEGER_TEXT = /^-?(0|[1-9][0-9]{0,39})$/

/**
 * The number of a route, as digits. Callers may send an integer or its text (spec: Request envelope). A number beyond 64
 * bits is valid and names no route. A text with a lone surrogate or U+0000 is 9000, as in every text (E5).
 */
export function serviceId(): Schema<string, 'required'> {
  return {
    shape: { type: 'integer', text_pattern: sourceOf(INTEGER_TEXT) },
    presence: 'required',
    check(value, validation) {
      if (typeof value === 'string' && !isStorable(value)) return report(validation, 9000)
      const integer = typeof value === 'string' && INTEGER_TEXT.test(value) ? BigInt(value) : toInteger(value)
      if (integer === undefined) return report(validation, 1005)
      return integer >= INT64_MIN && integer <= INT64_MAX ? integer.toString() : NO_ROUTE
    },
  }
}

function toInteger(value: Json): bigint | undefined {
  if (typeof value === 'bigint') return value
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined
}
