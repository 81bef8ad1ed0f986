import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'

/** An amount as merchants see it: minor units as a JSON number. */
export interface AmountObject {
  readonly value: number
  readonly currency: string
}

/** The public amount. The edge admits none that a JSON number cannot hold (E6), so one here is a fault. */
export function amountObject(money: Money | undefined): AmountObject {
  const { minor, currency } = present(money, 'amount')
  return { value: safeNumber(minor), currency }
}

/** A 64-bit integer as a JSON number; throws when that would round it. */
export function safeNumber(value: bigint | string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw new RangeError('an integer does not fit a JSON number')
  return number
}

/** An instant as `YYYY-MM-DDTHH:mm:ss.SSSZ` (E15). */
export function instantText(instant: Timestamp | undefined): string {
  return timestampDate(present(instant, 'instant')).toISOString()
}

/** A field that every payment has; proto3 cannot say so. */
function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new TypeError(`a message without its ${what}`)
  return value
}

/**
 * The entries that have a value: an unknown optional field is absent from an answer, never null (E15). `undefined`
 * when none is left, so that an empty object can be left out in turn.
 */
export function definedFields<T extends Readonly<Record<string, unknown>>>(
  fields: T,
): DefinedFields<T> | undefined {
  let found: Record<string, unknown> | undefined
  for (const name in fields) {
    const value = fields[name]
    if (value === undefined) continue
    found ??= {}
    found[name] = value
  }
  return found as DefinedFields<T> | undefined
}

/** The same fields, each of which may be absent but none undefined. */
export type DefinedFields<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }
