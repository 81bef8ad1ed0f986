import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { INT64_MAX } from '#lib/contract/money.ts'
import { isStorable } from './scalars.ts'
import type { Schema } from './schema.ts'
import { report } from './validation.ts'

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
 * An amount as a text of digits, from 1 to 2^63 - 1 and without leading zeros (spec: Limits). Another type is refused with 1005; any other
 * text with `code`, the code of the resource for a wrong amount (E6).
 */
export function digitAmount(code: ErrorCode): Schema<bigint, 'required'> {
  return {
    shape: { type: 'text', min: 1, max: DIGITS.length, pattern: PATTERN },
    presence: 'required',
    check(value, validation) {
      if (typeof value !== 'string') return report(validation, 1005)
      if (!isStorable(value)) return report(validation, 9000)
      return POSITIVE_INT64.test(value) ? BigInt(value) : report(validation, code)
    },
  }
}
