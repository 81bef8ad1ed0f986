import type { DescField } from '@bufbuild/protobuf'
import { exponentOf } from '#lib/contract/decimal-amount.ts'

/** The integers that are amounts in minor units of the currency of their message, or of the message around it. */
const IS_MINOR =
  /^(available|held)(_after)?$|^(minimum|maximum|daily|monthly|since_settlement|minimum_amount|above_minor)$/

/** The currency that a message or an item names, itself or in its amount; empty for others. */
export function currencyOf(item: unknown): string {
  const { currency, amount } = (item ?? {}) as { currency?: unknown; amount?: { currency?: unknown } }
  return String([currency, amount?.currency].find((one) => typeof one === 'string') ?? '')
}

/** Whether a field is an amount in minor units of a currency that has them. */
export function isMinorAmount({ name }: DescField, currency: string): boolean {
  return IS_MINOR.test(name) && exponentOf(currency) !== undefined
}

// The numbers of protobuf's descriptor for double and int32; int64 are ids or amounts.
const NUMBERS: readonly (number | undefined)[] = [1, 5]

/** Whether the values of a field are numbers or amounts, which are aligned to the right. */
export function isNumberField({ name, message, scalar }: DescField): boolean {
  return message?.typeName === 'multihub.common.v1.Money' || IS_MINOR.test(name) || NUMBERS.includes(scalar)
}
