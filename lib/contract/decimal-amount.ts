import { isCurrencyCode, type Money } from './money.ts'

/** The active currencies whose minor unit is not a hundredth: the exponent of ISO 4217, which is 2 for all others. */
const EXPONENTS: ReadonlyMap<string, number> = new Map([
  ...codes(0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'),
  ...codes(3, 'BHD IQD JOD KWD LYD OMR TND'),
  ...codes(4, 'CLF UYW'),
])

/** Codes of ISO 4217 without a minor unit: metals, units of account, tests. No amount of them has a decimal form. */
const WITHOUT_MINOR_UNIT: ReadonlySet<string> = new Set(
  'XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'.split(' '),
)

const DECIMAL = /^(0|[1-9][0-9]{0,18})(?:\.([0-9]{1,4}))?$/

/** How many decimal places an amount of the currency has; `undefined` for a code without a minor unit. */
export function exponentOf(currency: string): number | undefined {
  if (!isCurrencyCode(currency) || WITHOUT_MINOR_UNIT.has(currency)) return undefined
  return EXPONENTS.get(currency) ?? 2
}

/**
 * Writes an amount as a decimal number of the currency, with all of its decimal places: 1 INR paisa is `0.01`, 1 JPY is
 * `1`, 1 KWD fils is `0.001`. Exact. Throws `TypeError` for a negative amount or a currency without a minor unit.
 */
export function formatDecimal({ minor, currency }: Money): string {
  const exponent = exponentOf(currency)
  if (exponent === undefined || minor < 0n)
    throw new TypeError('the amount has no decimal form in its currency')
  if (exponent === 0) return String(minor)
  const digits = String(minor).padStart(exponent + 1, '0')
  return `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}

/**
 * Reads a decimal number of the currency. `1`, `1.0` and `1.00` are the same amount. Exact: `undefined` for more decimal
 * places than the currency has, even zeros, for any other form of a number, and for a currency without a minor unit.
 */
export function parseDecimal(text: string, currency: string): Money | undefined {
  const exponent = exponentOf(currency)
  const [, whole, fraction = ''] = DECIMAL.exec(text) ?? []
  if (exponent === undefined || whole === undefined || fraction.length > exponent) return undefined
  return { minor: BigInt(whole + fraction.padEnd(exponent, '0')), currency }
}

function codes(exponent: number, list: string): [string, number][] {
  return list.split(' ').map((currency) => [currency, exponent])
}
