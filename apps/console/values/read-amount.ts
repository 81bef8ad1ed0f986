import { parseDecimal } from '#lib/contract/decimal-amount.ts'

/** Reads an amount in major units, such as `-12,300.00`. Throws a sentence for anything that is not exactly one. */
export function readAmount(text: string, currency: string): { minor: bigint; currency: string } {
  const [, sign = '', digits = ''] = /^([-+]?)(.*)$/.exec(text.trim().replaceAll(',', '')) ?? []
  const money = parseDecimal(digits, currency)
  if (money === undefined || money.minor === 0n)
    throw new Error(`${text} is not an amount of ${currency}: write it in major units, such as 123.45`)
  return { minor: sign === '-' ? -money.minor : money.minor, currency }
}
