import type { Environment } from '#lib/contract/environment.ts'
import { createInspection, type Inspection, report, reportAt } from './inspection.ts'
import type { Json, JsonObject } from './parse.ts'

/** A schema as plain data, from which the merchants' reference is written. `description` is for people. */
export type Shape = { readonly description?: string } & (
  | ObjectShape
  | TextShape
  | IntegerShape
  | { readonly type: 'list'; readonly item: Shape; readonly max: number }
  | { readonly type: 'anything' }
)

/** The shape of an object. Of the fields `at_least_one`, if it names any, one has to be there. */
export interface ObjectShape {
  readonly type: 'object'
  readonly fields: Readonly<Record<string, FieldShape>>
  readonly at_least_one: readonly string[]
}

/** The shape of a text: its length in code points, and the pattern and format of JSON Schema that describe it. */
export interface TextShape {
  readonly type: 'text'
  readonly min: number
  readonly max: number
  readonly pattern: string
  readonly format?: string
}

/** The shape of an integer. With a `text_pattern` a text of that pattern is taken for one, too. */
export interface IntegerShape {
  readonly type: 'integer'
  readonly min?: bigint
  readonly max?: bigint
  readonly text_pattern?: string
}

/** The shape of a field of an object, and whether it has to be there. */
export type FieldShape = Shape & { readonly presence: Presence }

/**
 * Whether a field has to be there. One that does not apply to this method is refused with 9000 in its place in the
 * table (E5); one that is ignored may hold anything.
 */
export type Presence = 'required' | 'optional' | 'not_applicable' | 'ignored'

/**
 * One rule about a JSON value: `shape` says it in data, `check` does it, built once when the schema is declared. It
 * answers the value as the code wants it, or reports what is wrong and answers `undefined`.
 */
export interface Schema<T, P extends Presence = Presence> {
  readonly shape: Shape
  readonly presence: P
  readonly check: (value: Json, inspection: Inspection) => T | undefined
}

/** The type of the values that a schema lets through. */
export type TypeOf<S> = S extends Schema<infer T> ? T : never

type Fields = Readonly<Record<string, Schema<unknown>>>

type NamesOf<F extends Fields, P extends Presence> = {
  [K in keyof F]: F[K]['presence'] extends P ? K : never
}[keyof F]

type ObjectOf<F extends Fields> = {
  readonly [K in NamesOf<F, 'required'>]: TypeOf<F[K]>
} & {
  readonly [K in NamesOf<F, 'optional'>]?: TypeOf<F[K]>
}

/** The same schema with a sentence for the merchants' reference. */
export function described<T, P extends Presence>(description: string, schema: Schema<T, P>): Schema<T, P> {
  return { ...schema, shape: { ...schema.shape, description } }
}

/** Makes a field optional. Null is not absence: it is a value of the wrong type. */
export function optional<T>(schema: Schema<T, 'required'>): Schema<T, 'optional'> {
  return { ...schema, presence: 'optional' }
}

/** A field that the spec's table has, but not for this method. */
export function notApplicable(): Schema<never, 'not_applicable'> {
  return { shape: NOTHING, presence: 'not_applicable', check: () => undefined }
}

/** A field that may be there and is not looked at. */
export function ignored(): Schema<never, 'ignored'> {
  return { shape: NOTHING, presence: 'ignored', check: () => undefined }
}

const NOTHING: Shape = { type: 'anything' }

/**
 * An object of exactly these fields, declared in the order of the spec's table, because the first fault is the one
 * that is told. Of the fields `at_least_one` (if given) one must be there, or one that does not apply in its stead.
 */
export function object<const F extends Fields>(
  fields: F,
  { at_least_one = [] }: { readonly at_least_one?: readonly (keyof F & string)[] } = {},
): Schema<ObjectOf<F>, 'required'> {
  const entries = Object.entries(fields)
  const known = new Set(Object.keys(fields))
  const in_stead = entries.filter(([, { presence }]) => presence === 'not_applicable').map(([name]) => name)
  const alternatives = [...at_least_one, ...in_stead]
  const check = (value: Json, inspection: Inspection): ObjectOf<F> | undefined => {
    if (!isObject(value)) return report(inspection, 1005)
    if (at_least_one.length > 0 && !alternatives.some((name) => Object.hasOwn(value, name)))
      report(inspection, 1005)
    const result: Record<string, unknown> = {}
    for (const [name, field] of entries) checkField(name, field, value, inspection, result)
    for (const name in value) if (!known.has(name)) reportAt(inspection, name, 9000)
    return result as ObjectOf<F>
  }
  const field_shapes = entries.map(([name, { shape, presence }]) => [name, { ...shape, presence }] as const)
  return {
    shape: { type: 'object', fields: Object.fromEntries(field_shapes), at_least_one },
    presence: 'required',
    check,
  }
}

function checkField(
  name: string,
  field: Schema<unknown>,
  value: JsonObject,
  inspection: Inspection,
  result: Record<string, unknown>,
): void {
  const inner = Object.hasOwn(value, name) ? value[name] : undefined
  if (inner === undefined) {
    if (field.presence === 'required') reportAt(inspection, name, 1005)
  } else if (field.presence === 'not_applicable') {
    reportAt(inspection, name, 9000)
  } else if (field.presence !== 'ignored') {
    inspection.path.push(name)
    result[name] = field.check(inner, inspection)
    inspection.path.pop()
  }
}

/** A list of at most `max` elements; its elements are named by their index. */
export function list<T>(
  item: Schema<T>,
  { max }: { readonly max: number },
): Schema<readonly T[], 'required'> {
  return {
    shape: { type: 'list', item: item.shape, max },
    presence: 'required',
    check(value, inspection) {
      if (!Array.isArray(value)) return report(inspection, 1005)
      if (value.length > max) report(inspection, 9000)
      const items: T[] = []
      for (const [index, inner] of value.entries()) {
        inspection.path.push(String(index))
        const checked = item.check(inner, inspection)
        if (checked !== undefined) items.push(checked)
        inspection.path.pop()
      }
      return items
    },
  }
}

/** Whether a JSON value is an object, not an array or null. */
export function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The request as its schema wants it. Throws the `PublicError` of the one fault that is told (E6). */
export function validate<T>(schema: Schema<T>, value: Json, environment: Environment): T {
  const inspection = createInspection(environment)
  const result = schema.check(value, inspection)
  const fault = inspection.content_fault ?? inspection.specific_fault
  if (fault !== undefined) throw fault
  if (result === undefined) throw new TypeError('a schema refused a value without saying why')
  return result
}
