import { exponentOf, parseDecimal } from './decimal-amount.ts'

/** Commas separate groups of three digits. A decimal comma, such as in `12,50`, would make a hundredfold amount of it. */
const GROUPED = /^\d{1,3}(,\d{3})+(\.\d+)?$/

/** Thousands, or a decimal comma where the currency has three decimals. */
const LONE_GROUP = /^\d{1,3},\d{3}$/

/**
 * Reads an amount that a person wrote in major units as minor units: `1250.50`, `1,250.50` and `-5`. The console and the command line
 * use this one rule. Throws an `Error` with a sentence that says what is wrong.
 */
export function readAmount(text: string, currency: string): bigint {
  const [, sign = '', digits = ''] = /^([-+]?)(.*)$/.exec(text.trim()) ?? []
  if (currency === '') throw new Error('it needs a currency')
  const exponent = exponentOf(currency)
  if (exponent === undefined) throw new Error(`${currency} is not a known currency with decimal amounts`)
  if (digits.includes(',') && !GROUPED.test(digits))
    throw new Error(
      `${text} has a comma that does not separate three digits: write a point before the decimals, such as 1,234.50`,
    )
  if (exponent === 3 && LONE_GROUP.test(digits))
    throw new Error(
      `${text} may be thousands or decimals: write a point before the decimals, such as ${digits}.000 or ${digits.replace(',', '.')}`,
    )
  const number = digits.replaceAll(',', '')
  const minor = number === '' && sign === '' ? 0n : parseDecimal(number, currency)?.minor
  if (minor === undefined && (number.split('.')[1]?.length ?? 0) > exponent)
    throw new Error(
      `${text} has too many decimals: an amount of ${currency} has at most ${exponent} decimal places`,
    )
  if (minor === undefined)
    throw new Error(`${text} is not an amount of ${currency}: write it in major units, such as 123.45`)
  return sign === '-' ? -minor : minor
}
