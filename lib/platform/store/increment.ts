import { INT64_MAX } from '#lib/contract/money.ts'
import { checkInt64 } from './check.ts'
import { keyFields, type Layout } from './layout.ts'
import type { Fields, Incremented } from './port.ts'

/** An increment, checked. `created` is the document to make when there is none, still without the counter. */
export interface IncrementPlan {
  readonly key: Readonly<Record<string, unknown>>
  readonly field: string
  readonly by: bigint
  readonly max: bigint
  readonly created: Readonly<Record<string, unknown>>
}

/** Checks what `increment` was given. Throws `TypeError`. */
export function planIncrement(
  layout: Layout,
  key: Fields,
  field: string,
  by: bigint,
  options: { readonly max?: bigint; readonly expires_at?: Date },
): IncrementPlan {
  const { max = INT64_MAX, expires_at } = options
  const reserved = [...layout.key, layout.expires, 'version', '_id']
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(field) || reserved.includes(field)) {
    throw new TypeError(`${layout.name}: ${JSON.stringify(field)} is no counter`)
  }
  if (expires_at !== undefined && layout.expires === undefined) {
    throw new TypeError(`${layout.name}: documents of this collection do not expire`)
  }
  if (expires_at !== undefined && Number.isNaN(expires_at.getTime())) {
    throw new TypeError(`${layout.name}: expires_at is no date`)
  }
  const fields = keyFields(layout, key)
  const expiry =
    layout.expires === undefined || expires_at === undefined ? {} : { [layout.expires]: expires_at }
  return { key: fields, field, by: checkInt64(by), max: checkInt64(max), created: { ...fields, ...expiry } }
}

/** The value of a counter as a stored document has it: absent counts as zero. Throws `TypeError` for anything else. */
export function counterOf(plan: IncrementPlan, value: unknown): bigint {
  if (value === undefined) return 0n
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  throw new TypeError(`field ${plan.field} holds no integer`)
}

/** What the increment makes of a counter: the sum, or the value that stands when the sum would pass `max`. */
export function sumOf(plan: IncrementPlan, value: unknown): Incremented {
  const standing = counterOf(plan, value)
  const sum = standing + plan.by
  return sum > plan.max ? { ok: false, value: standing } : { ok: true, value: checkInt64(sum) }
}
