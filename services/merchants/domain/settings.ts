import { fieldError } from '#lib/contract/errors/public-error.ts'

/** One setting of a resource of the registry: what is stored for what a request gives. */
interface Setting<Given, Stored, Context> {
  /** What a new resource has when its request gives nothing. Without it, the request must give a value. */
  readonly fallback?: Stored
  /** Returns what is stored. Throws 9000, or another refusal, with `path`, the name of the field. */
  check(given: Given, path: string, context: Context): Stored
}

/**
 * The settings of one kind of resource, which the operator gives at its creation and can change later. A new field is a row of
 * this table, and a line in the mappings from and to its messages:
 * `max_retries: { fallback: 3, check: integerFrom(1, 10) }`.
 */
type SettingsTable<Context> = Readonly<Record<string, Setting<never, unknown, Context>>>

/** The stored settings of a resource with this table. */
export type StoredSettings<Table extends SettingsTable<never>> = {
  readonly [Field in keyof Table]: ReturnType<Table[Field]['check']>
}

/** What a request gives of the settings: `undefined` for a field that it leaves alone. */
export type GivenSettings<Table extends SettingsTable<never>> = {
  readonly [Field in keyof Table]?: Parameters<Table[Field]['check']>[0] | undefined
}

/** The stored value of each given setting. The checks run in the order of the table. */
export function changedSettings<Context, Table extends SettingsTable<Context>>(
  table: Table,
  given: GivenSettings<Table>,
  context: Context,
): Partial<StoredSettings<Table>> {
  const fields = Object.keys(table).flatMap((field) => {
    const value = given[field]
    return value === undefined ? [] : [[field, table[field]?.check(value as never, field, context)] as const]
  })
  return Object.fromEntries(fields) as Partial<StoredSettings<Table>>
}

/** All settings of a new resource. Throws 1005 for a field that has no value. */
export function newSettings<Context, Table extends SettingsTable<Context>>(
  table: Table,
  given: GivenSettings<Table>,
  context: Context,
): StoredSettings<Table> {
  const fields = Object.entries(table).map(([field, { fallback, check }]) => {
    const value = given[field]
    if (value === undefined && fallback === undefined) throw fieldError(1005, field)
    return [field, value === undefined ? fallback : check(value as never, field, context)] as const
  })
  return Object.fromEntries(fields) as StoredSettings<Table>
}

/** The fields that every document of the registry has. */
export interface RegistryDocument {
  readonly merchant_id: string
  readonly created_at: Date
  readonly updated_at: Date
}

/** Parses a numeric id, which RPCs carry as digits; `undefined` for a text that cannot be one. */
export function parseNumericId(digits: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined
}

/** Accepts an integer from `min` to `max`, both included. */
export function checkInteger(value: number, path: string, min: number, max: number): number {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw fieldError(9000, path, `an integer from ${min} to ${max}`)
  }
  return value
}

/** Accepts an integer from 0 to 2^53-1, the largest that a public JSON number carries exactly. */
export function checkQuantity(value: bigint, path: string): bigint {
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER))
    throw fieldError(9000, path, 'an integer from 0 to 2^53-1')
  return value
}

/** The check of a setting from `min` to `max`, both included. */
export function integerFrom(min: number, max: number) {
  return (value: number, path: string): number => checkInteger(value, path, min, max)
}

/**
 * The check of a setting that is a list of known words. It drops repetitions. The refusal names an unknown word by its place:
 * `scopes.2`.
 */
export function wordsOf<const Word extends string>(known: readonly Word[]) {
  return (words: readonly string[], path: string): readonly Word[] => {
    const accepted = words.map((word, place) => {
      const match = known.find((candidate) => candidate === word)
      if (match === undefined) throw fieldError(9000, `${path}.${place}`, `one of ${known.join(', ')}`)
      return match
    })
    return [...new Set(accepted)]
  }
}

/** Refuses a list of more than `max` entries. */
export function checkCount(values: readonly unknown[], path: string, max: number): void {
  if (values.length > max) throw fieldError(9000, path, `at most ${max} entries`)
}
