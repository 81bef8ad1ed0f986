import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { AMOUNT_MAX, INT64_MAX, INT64_MIN, isCurrencyCode } from '#lib/contract/money.ts'
import type { Json } from './parse-json.ts'
import type { Schema, TextShape } from './schema.ts'
import { defer, report, type ValidationContext } from './validation.ts'

/** A rule for the content of a text, beyond its length. */
export interface TextFormat {
  /**
   * The part of the rule that the API reference shows. Validators in other languages read it, so it uses only
   * what JavaScript, Python, Go and Java have in common: no `\p`, `\u` and `\s`, no flags, no look-around.
   */
  readonly pattern: RegExp
  /** The name that JSON Schema has for such texts, if it has one. */
  readonly json_format?: 'idn-email' | 'iri' | 'uri' | 'date-time'
  /** The part of the rule that such a pattern cannot express. */
  readonly accepts?: (text: string, context: ValidationContext) => boolean
  /**
   * A part of the rule that has to wait for a response from outside. It is checked when the rest of the request is
   * valid.
   */
  readonly acceptsLater?: (text: string, context: ValidationContext) => Promise<boolean>
}

/** Whether a text has a format, as far as that can be known without waiting. */
export function matchesFormat(
  { pattern, accepts }: TextFormat,
  text: string,
  context: ValidationContext,
): boolean {
  return pattern.test(text) && (accepts === undefined || accepts(text, context))
}

/** Control characters, for a class of a pattern. */
const CONTROL = String.raw`\x00-\x1f\x7f-\x9f`
/** The same with the blanks that are next to them. */
const CONTROL_OR_BLANK = String.raw`\x00-\x20\x7f-\xa0`

/** A part of a local part between dots. */
const WORD = String.raw`[^${CONTROL_OR_BLANK}@"(),.:;<>\[\\\]]{1,64}`
/** The first or last character of a label: a letter, a digit, or any character beyond ASCII. */
const LABEL_EDGE = String.raw`[^\x00-/:-@\[-\x60{-\xa0]`
/** The characters between the edges of a label: the same and hyphens. */
const LABEL_INNER = String.raw`[^\x00-,./:-@\[-\x60{-\xa0]{0,61}`

/** Words with single dots between them, an at sign, and at least two labels. `EMAIL_CHARACTERS` restricts it further. */
const EMAIL = new RegExp(
  `^${WORD}(?:\\.${WORD})*@(?:${LABEL_EDGE}(?:${LABEL_INNER}${LABEL_EDGE})?\\.)+${LABEL_EDGE}${LABEL_INNER}${LABEL_EDGE}$`,
)

/** No white space beyond ASCII, at most 64 characters before the at sign, and only letters, marks and digits after it. */
const EMAIL_CHARACTERS = /^[^\s@]{1,64}@[\p{L}\p{N}\p{M}.-]+$/u

/** An e-mail address. Whether mail arrives there cannot be checked here. */
export const EMAIL_ADDRESS: TextFormat = {
  pattern: EMAIL,
  json_format: 'idn-email',
  accepts: (text) => EMAIL_CHARACTERS.test(text),
}

const HTTP_SCHEME = '[Hh][Tt][Tt][Pp][Ss]?://'

/** Refuses what WHATWG parsing forgives: tabs, newlines, backslashes, and missing or additional slashes. */
const HTTP_URL_PATTERN = new RegExp(
  `^${HTTP_SCHEME}[^${CONTROL_OR_BLANK}\\\\/?#][^${CONTROL_OR_BLANK}\\\\]*$`,
)

/** An absolute http or https URL. */
export const HTTP_URL: TextFormat = {
  pattern: HTTP_URL_PATTERN,
  json_format: 'iri',
  accepts: (text) => !/\s/.test(text) && URL.canParse(text),
}

/** Visible ASCII without the backslash. The first character after the scheme begins the host. */
const CALLBACK_URL_PATTERN = new RegExp(String.raw`^${HTTP_SCHEME}[!"$-.0->@-\[\]-~][!-\[\]-~]*$`)

/**
 * A URL that callbacks may be sent to, in ASCII (N9). The addresses of its host are checked last, because that takes
 * time.
 */
export const CALLBACK_URL: TextFormat = {
  pattern: CALLBACK_URL_PATTERN,
  json_format: 'uri',
  accepts: (text, { acceptsCallbackUrl, environment }) => acceptsCallbackUrl(text, environment),
  acceptsLater: (text, { acceptsCallbackHost, environment }) => acceptsCallbackHost(text, environment),
}

/** Any text without control characters, as references that the merchant chooses (P2). */
export const NO_CONTROL_CHARACTERS: TextFormat = { pattern: new RegExp(`^[^${CONTROL}]*$`) }

/** The bounds of a text. Lengths count code points. */
export interface TextRule {
  readonly min?: number
  readonly max: number
  readonly format?: TextFormat
}

/** A text. Refuses another type with 1005, and a wrong length or format, a lone surrogate or U+0000 with 9000 (E5). */
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
      if (!is_valid) return report(validation, 9000)
      const { acceptsLater } = format ?? {}
      if (acceptsLater !== undefined) defer(validation, () => acceptsLater(value, validation.context))
      return value
    },
  }
}

/** `isStorable` as a pattern, without the surrogates, which other languages cannot name in one. */
const STORABLE_PATTERN = '^[^\\x00]*$'

function patternOf(format: TextFormat | undefined): Pick<TextShape, 'pattern' | 'format'> {
  if (format === undefined) return { pattern: STORABLE_PATTERN }
  const { json_format } = format
  return { pattern: sourceOf(format.pattern), ...(json_format === undefined ? {} : { format: json_format }) }
}

/** The source of a pattern for other languages: only a JavaScript literal escapes slashes. */
function sourceOf({ source }: RegExp): string {
  return source.replaceAll(/\\(.)/g, (escaped, character) => (character === '/' ? '/' : escaped))
}

/**
 * Whether a text can be stored (E5). A lone surrogate has no UTF-8 form, and much software takes U+0000 for the end of a
 * text.
 */
function isStorable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0')
}

/** Counts code points only if the number of UTF-16 units does not decide. */
function isLengthWithin(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > 2 * max) return false
  if (value.length <= max && value.length >= 2 * min) return true
  let count = 0
  for (const _ of value) count += 1
  return count >= min && count <= max
}

/** One of these words. Another type is refused with 1005, another word with 9000. */
export function word<const Word extends string>(words: readonly Word[]): Schema<Word, 'required'> {
  return {
    shape: { type: 'word', words },
    presence: 'required',
    check(value, validation) {
      if (typeof value !== 'string') return report(validation, 1005)
      return words.find((candidate) => candidate === value) ?? report(validation, 9000)
    },
  }
}

/** The same rule for values that the code uses in another form. */
function mapped<From, To>(
  { shape, presence, check }: Schema<From, 'required'>,
  to: (value: From) => To,
): Schema<To, 'required'> {
  return {
    shape,
    presence,
    check(value, validation) {
      const checked = check(value, validation)
      return checked === undefined ? undefined : to(checked)
    },
  }
}

const UUID: TextFormat = {
  pattern: /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/,
}
const UUID_LENGTH = 36

/** A UUID in either case, returned in lower case, as ids are stored. Another form is refused with 9000. */
export function uuid(): Schema<string, 'required'> {
  return mapped(text({ min: UUID_LENGTH, max: UUID_LENGTH, format: UUID }), (id) => id.toLowerCase())
}

/** RFC 3339 with seconds and an offset. Fractions finer than milliseconds are cut off. */
const INSTANT: TextFormat = {
  pattern: /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$/,
  json_format: 'date-time',
  accepts: isInstant,
}
const INSTANT_MAX = 35

/** JavaScript turns the 30th of February into a day of March, so the day is compared with what it became. */
function isInstant(text: string): boolean {
  const day_ms = Date.parse(`${text.slice(0, 10)}T00:00:00Z`)
  const is_day = !Number.isNaN(day_ms) && new Date(day_ms).getUTCDate() === Number(text.slice(8, 10))
  return is_day && !Number.isNaN(Date.parse(text))
}

/** An instant in ISO 8601, such as 2026-11-22T10:00:00Z. Another form is refused with 9000. */
export function instant(): Schema<Date, 'required'> {
  return mapped(text({ max: INSTANT_MAX, format: INSTANT }), (checked) => new Date(checked))
}

/** An amount in minor units (E6). Anything but an integer literal is 1005, and an integer outside 1 to 2^53 - 1 is 6001. */
export function amount(): Schema<bigint, 'required'> {
  return integerWithin(1n, AMOUNT_MAX, 6001)
}

/** An integer within bounds. Anything but an integer literal is 1005, and an integer outside the bounds is 9000 (E4, E5). */
export function integer({ min, max }: { readonly min: number; readonly max: number }) {
  return mapped(integerWithin(BigInt(min), BigInt(max), 9000), Number)
}

function integerWithin(min: bigint, max: bigint, code: ErrorCode): Schema<bigint, 'required'> {
  return {
    shape: { type: 'integer', min, max },
    presence: 'required',
    check(value, validation) {
      const integer = toInteger(value)
      if (integer === undefined) return report(validation, 1005)
      return integer >= min && integer <= max ? integer : report(validation, code)
    },
  }
}

/** An ISO 4217 code; any other text is refused with 1010 (E6). Payments checks that it is the currency of the route. */
export function currency(): Schema<string, 'required'> {
  return textWithCode({ min: 3, max: 3, pattern: '^[A-Z]{3}$' }, isCurrencyCode, 1010)
}

/** A text with a code of its own for wrong content: another type is refused with 1005, a text that cannot be stored with 9000. */
function textWithCode(
  shape: Omit<TextShape, 'type'>,
  accepts: (text: string) => boolean,
  code: ErrorCode,
): Schema<string, 'required'> {
  return {
    shape: { type: 'text', ...shape },
    presence: 'required',
    check(value, validation) {
      if (typeof value !== 'string') return report(validation, 1005)
      if (!isStorable(value)) return report(validation, 9000)
      return accepts(value) ? value : report(validation, code)
    },
  }
}

/** No route has this number, so looking it up gives 1004. */
const NO_ROUTE = '0'
const INTEGER_TEXT = /^-?(0|[1-9][0-9]{0,39})$/

/**
 * The number of a route, as digits. Callers may send an integer or its text (spec: Request envelope). A number beyond 64
 * bits is valid and names no route. Any other text is refused with 9000 (E5).
 */
export function serviceId(): Schema<string, 'required'> {
  return {
    shape: { type: 'integer', text_pattern: sourceOf(INTEGER_TEXT) },
    presence: 'required',
    check(value, validation) {
      if (typeof value === 'string' && !INTEGER_TEXT.test(value)) return report(validation, 9000)
      const integer = typeof value === 'string' ? BigInt(value) : toInteger(value)
      if (integer === undefined) return report(validation, 1005)
      return integer >= INT64_MIN && integer <= INT64_MAX ? integer.toString() : NO_ROUTE
    },
  }
}

function toInteger(value: Json): bigint | undefined {
  if (typeof value === 'bigint') return value
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined
}

const DIGITS = INT64_MAX.toString()

/** All shorter numbers, numbers of the same length that are smaller from some digit on, and the largest number itself. */
const PATTERN = `^(?:[1-9][0-9]{0,${DIGITS.length - 2}}|${smallerNumbers().join('|')}|${DIGITS})$`
const POSITIVE_INT64 = new RegExp(PATTERN)

function smallerNumbers(): string[] {
  return [...DIGITS].flatMap((digit, index) => {
    const lowest = index === 0 ? 1 : 0
    if (Number(digit) <= lowest) return []
    return [`${DIGITS.slice(0, index)}[${lowest}-${Number(digit) - 1}][0-9]{${DIGITS.length - index - 1}}`]
  })
}

/**
 * An amount as a text of digits, from 1 to 2^63 - 1 and without leading zeros (spec: Limits). Another type is refused with
 * 1005; any other text with `code`, the code of the resource for a wrong amount (E6).
 */
export function digitAmount(code: ErrorCode): Schema<bigint, 'required'> {
  const shape = { min: 1, max: DIGITS.length, pattern: PATTERN }
  return mapped(
    textWithCode(shape, (digits) => POSITIVE_INT64.test(digits), code),
    BigInt,
  )
}
