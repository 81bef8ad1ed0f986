import { exponentOf, formatDecimal } from './decimal-amount.ts'

/** Spreadsheets read a text with such a beginning as a formula, also in full width, unless it is a plain number. */
const IS_FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r]/
const IS_NUMBER = /^-?\d+(\.\d+)?$/

/** A cell of a CSV file (RFC 4180). A text that a spreadsheet would execute begins with an apostrophe. */
export function csvCell(text: string): string {
  const harmless = IS_FORMULA.test(text) && !IS_NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** One line of a CSV file. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** An amount as a plain number in major units that a spreadsheet can sum, such as `-1234.50`. */
export function csvAmount(minor: bigint, currency: string): string {
  if (exponentOf(currency) === undefined) return String(minor)
  const digits = formatDecimal({ minor: minor < 0n ? -minor : minor, currency })
  return minor < 0n ? `-${digits}` : digits
}
