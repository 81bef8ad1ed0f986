import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'

/** An amount as merchants see it: minor units as a JSON number. */
export interface AmountObject {
  readonly value: number
  readonly currency: string
}

/** The public amount. The gateway refuses amounts that a JSON number cannot hold (E6), so one here is a fault. */
export function amountObject(money: Money | undefined): AmountObject {
  const { minor, currency } = required(money, 'amount')
  return { value: safeNumber(minor), currency }
}

/** A 64-bit integer as a JSON number. Throws `RangeError` when that would round it. */
export function safeNumber(value: bigint | string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw new RangeError('an integer does not fit a JSON number')
  return number
}

/** A time as `YYYY-MM-DDTHH:mm:ss.SSSZ` (E15). */
export function instantText(instant: Timestamp | undefined): string {
  return timestampDate(required(instant, 'time')).toISOString()
}

/** A field that every payment has, which proto3 cannot express. */
function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new TypeError(`a payment message has no ${name}`)
  return value
}

/**
 * The fields that have a value: an unknown optional field is absent from a response, never null (E15). Returns
 * `undefined` when no field has a value, so that the caller can omit the object too.
 */
export function definedFields<T extends Readonly<Record<string, unknown>>>(
  fields: T,
): DefinedFields<T> | undefined {
  let defined: Record<string, unknown> | undefined
  for (const name in fields) {
    const value = fields[name]
    if (value === undefined) continue
    defined ??= {}
    defined[name] = value
  }
  return defined as DefinedFields<T> | undefined
}

/** The same fields; each may be absent but not undefined. */
export type DefinedFields<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }
