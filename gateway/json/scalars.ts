import type { Environment } from '#lib/environment.ts'
import { AMOUNT_MAX, INT64_MAX, INT64_MIN, isCurrencyCode } from '#lib/money.ts'
import { report } from './inspection.ts'
import type { Json } from './parse.ts'
import type { Schema } from './schema.ts'

/** A rule about a text beyond its length. Its name stands in the merchants' reference. */
export interface TextFormat {
  readonly name: string
  readonly test: (text: string, environment: Environment) => boolean
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
    shape: { type: 'text', min, max, ...(format === undefined ? {} : { format: format.name }) },
    presence: 'required',
    check(value, inspection) {
      if (typeof value !== 'string') return report(inspection, 1005)
      const sound = isSound(value) && isWithin(value, min, max)
      if (sound && (format === undefined || format.test(value, inspection.environment))) return value
      return report(inspection, 9000)
    },
  }
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
    shape: { type: 'integer', min: 1n, max: AMOUNT_MAX, text_accepted: false },
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
    shape: { type: 'text', min: 3, max: 3, format: 'ISO 4217 code' },
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
 * in shape and names no route.
 */
export function serviceId(): Schema<string, 'required'> {
  return {
    shape: { type: 'integer', min: 1n, max: AMOUNT_MAX, text_accepted: true },
    presence: 'required',
    check(value, inspection) {
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
