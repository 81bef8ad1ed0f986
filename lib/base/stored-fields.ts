/**
 * How one field of a stored structure is checked and hashed. A document that was altered, or restored with other types,
 * can have any form: a hash does not show a number in place of a bigint, and a malformed document has no hash at all.
 */
interface Field {
  /** Whether a value is as it was written. */
  isValid(value: unknown): boolean
  /** The value in JSON, so that a hash does not depend on how a store keeps documents. */
  toJson(value: unknown): unknown
  /** Whether the JSON of a record names the field, and leaves it out when it is absent. */
  readonly is_added?: boolean
}

/** A field for each name that a type has, so that neither a check nor a hash can leave one out. */
export type FieldsOf<T> = { readonly [Name in keyof T]-?: Field }

const unchanged = (value: unknown): unknown => value

/** A text. */
export const TEXT: Field = { isValid: (value) => typeof value === 'string', toJson: unchanged }

/** A whole number that a `number` represents exactly. */
export const INTEGER: Field = { isValid: Number.isSafeInteger, toJson: unchanged }

/** A bigint. */
export const BIGINT: Field = { isValid: (value) => typeof value === 'bigint', toJson: String }

/** An instant. */
export const TIME: Field = {
  isValid: (value) => value instanceof Date && !Number.isNaN(value.getTime()),
  toJson: Number,
}

/** A field that can be absent. */
export function optional({ isValid, toJson }: Field): Field {
  return {
    isValid: (value) => value === undefined || isValid(value),
    toJson: (value) => (value === undefined ? null : toJson(value)),
  }
}

/** A field that a record got later. Without it the JSON of a record, and so its hash, is as before. */
export function added(field: Field): Field {
  return { ...optional(field), is_added: true }
}

/** A list of equal fields. */
export function listOf({ isValid, toJson }: Field): Field {
  return {
    isValid: (value) => Array.isArray(value) && value.every(isValid),
    toJson: (value) => (value as readonly unknown[]).map(toJson),
  }
}

/**
 * An object with these fields. Its JSON is the list of their values, in the order in which they are declared, with the name of
 * each `added` one.
 */
export function record<T>(fields: FieldsOf<T>): Field {
  const named = Object.entries<Field>(fields)
  return {
    isValid: (value) =>
      typeof value === 'object' &&
      value !== null &&
      named.every(([name, field]) => field.isValid((value as Readonly<Record<string, unknown>>)[name])),
    toJson(value) {
      const json: unknown[] = []
      for (const [name, { toJson, is_added = false }] of named) {
        const found = (value as Readonly<Record<string, unknown>>)[name]
        if (!is_added) json.push(toJson(found))
        else if (found !== undefined) json.push([name, toJson(found)])
      }
      return json
    },
  }
}
