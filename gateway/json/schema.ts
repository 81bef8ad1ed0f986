import type { Json, JsonObject } from './parse-json.ts'
import {
  beginValidation,
  report,
  reportField,
  runDeferred,
  type Validation,
  type ValidationContext,
} from './validation.ts'

/** A schema as plain data, from which the API reference is generated. `description` is for its readers. */
export type Shape = { readonly description?: string } & (
  | ObjectShape
  | TextShape
  | IntegerShape
  | { readonly type: 'word'; readonly words: readonly string[] }
  | { readonly type: 'list'; readonly item: Shape; readonly max: number }
  | { readonly type: 'anything' }
)

/** Rules about which fields of an object are present together. */
export interface PresenceRules<Name extends string = string> {
  /** One of these fields must be present. */
  readonly at_least_one?: readonly Name[]
  /** One of these fields must be present, and no other of them. */
  readonly exactly_one?: readonly Name[]
  /** While the field `of` has one of these words, the field `field` must be present. */
  readonly required_for?: { readonly field: Name; readonly of: Name; readonly words: readonly string[] }
}

/** The shape of an object. */
export interface ObjectShape extends PresenceRules {
  readonly type: 'object'
  readonly fields: Readonly<Record<string, FieldShape>>
}

/** The shape of a text: its length in code points, and its pattern and format in the terms of JSON Schema. */
export interface TextShape {
  readonly type: 'text'
  readonly min: number
  readonly max: number
  readonly pattern: string
  readonly format?: string
}

/** The shape of an integer. With a `text_pattern`, a text that matches it is accepted as an integer too. */
export interface IntegerShape {
  readonly type: 'integer'
  readonly min?: bigint
  readonly max?: bigint
  readonly text_pattern?: string
}

/** The shape of a field of an object, and whether it must be present. */
export type FieldShape = Shape & { readonly presence: Presence }

/**
 * Whether a field must be present. A field that does not apply to the method is refused with 9000, at its position in the
 * list of fields (E5, E6). An ignored field may hold anything.
 */
export type Presence = 'required' | 'optional' | 'not_applicable' | 'ignored'

/**
 * A rule for a JSON value. `shape` describes the rule as data. `check` applies it: it returns the value in the form that
 * the code uses, or reports a violation and returns `undefined`.
 */
export interface Schema<T, P extends Presence = Presence> {
  readonly shape: Shape
  readonly presence: P
  readonly check: (value: Json, validation: Validation) => T | undefined
}

/** The type of the values that a schema returns. */
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

/** Adds a description for the API reference. */
export function described<T, P extends Presence>(description: string, schema: Schema<T, P>): Schema<T, P> {
  return { ...schema, shape: { ...schema.shape, description } }
}

/** Makes a field optional. Null does not count as absent: it is a value of the wrong type. */
export function optional<T>(schema: Schema<T, 'required'>): Schema<T, 'optional'> {
  return { ...schema, presence: 'optional' }
}

/** A field of the public interface that does not apply to this method (spec: Request envelope). */
export function notApplicable(): Schema<never, 'not_applicable'> {
  return { shape: ANYTHING, presence: 'not_applicable', check: () => undefined }
}

/** A field that may be present and is not read. */
export function ignored(): Schema<never, 'ignored'> {
  return { shape: ANYTHING, presence: 'ignored', check: () => undefined }
}

const ANYTHING: Shape = { type: 'anything' }

/**
 * An object with exactly these fields. Declare them in the order in which the specification lists them, because the first
 * violation is reported (E6). A field that does not apply also satisfies `at_least_one`, because it gets its own 9000. Two
 * fields of `exactly_one` are a 9000 of the object.
 */
export function object<const F extends Fields>(
  fields: F,
  rules: PresenceRules<keyof F & string> = {},
): Schema<ObjectOf<F>, 'required'> {
  const entries = Object.entries(fields)
  const names = new Set(Object.keys(fields))
  const refused = entries.filter(([, { presence }]) => presence === 'not_applicable').map(([name]) => name)
  const check = (value: Json, validation: Validation): ObjectOf<F> | undefined => {
    if (!isObject(value)) return report(validation, 1005)
    checkPresence(value, rules, refused, validation)
    const result: Record<string, unknown> = {}
    for (const [name, field] of entries) checkField(name, field, value, validation, result)
    for (const name in value) if (!names.has(name)) reportField(validation, name, 9000)
    return result as ObjectOf<F>
  }
  const field_shapes = entries.map(([name, { shape, presence }]) => [name, { ...shape, presence }] as const)
  return {
    shape: { type: 'object', fields: Object.fromEntries(field_shapes), ...rules },
    presence: 'required',
    check,
  }
}

/** Applies the rules about fields that are present together. `refused` are the fields that do not apply. */
function checkPresence(
  value: JsonObject,
  { at_least_one, exactly_one, required_for }: PresenceRules,
  refused: readonly string[],
  validation: Validation,
): void {
  const countOf = (fields: readonly string[]): number =>
    fields.filter((name) => Object.hasOwn(value, name)).length
  if (at_least_one && countOf([...at_least_one, ...refused]) === 0) report(validation, 1005)
  const given = exactly_one ? countOf(exactly_one) : 1
  if (given !== 1) report(validation, given === 0 ? 1005 : 9000)
  if (!required_for) return
  const { field, of, words } = required_for
  const word = Object.hasOwn(value, of) ? value[of] : undefined
  if (typeof word === 'string' && words.includes(word) && countOf([field]) === 0)
    reportField(validation, field, 1005)
}

function checkField(
  name: string,
  field: Schema<unknown>,
  value: JsonObject,
  validation: Validation,
  result: Record<string, unknown>,
): void {
  const inner = Object.hasOwn(value, name) ? value[name] : undefined
  if (inner === undefined) {
    if (field.presence === 'required') reportField(validation, name, 1005)
  } else if (field.presence === 'not_applicable') {
    reportField(validation, name, 9000)
  } else if (field.presence !== 'ignored') {
    validation.path.push(name)
    result[name] = field.check(inner, validation)
    validation.path.pop()
  }
}

/** A list of at most `max` items. In the path of a violation, an item is named by its index. */
export function list<T>(
  item: Schema<T>,
  { max }: { readonly max: number },
): Schema<readonly T[], 'required'> {
  return {
    shape: { type: 'list', item: item.shape, max },
    presence: 'required',
    check(value, validation) {
      if (!Array.isArray(value)) return report(validation, 1005)
      if (value.length > max) report(validation, 9000)
      const items: T[] = []
      for (const [index, inner] of value.entries()) {
        validation.path.push(String(index))
        const checked = item.check(inner, validation)
        if (checked !== undefined) items.push(checked)
        validation.path.pop()
      }
      return items
    },
  }
}

/** Whether a JSON value is an object, not an array or null. */
export function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Resolves with the request in the form of its schema. Rejects with the one `PublicError` that E6 selects from its
 * violations. Checks that have to wait are 9000s, so they run only when there is no other 9000.
 */
export async function validate<T>(schema: Schema<T>, value: Json, context: ValidationContext): Promise<T> {
  const validation = beginValidation(context)
  const result = schema.check(value, validation)
  const { content_violation, specific_violation, deferred } = validation
  if (content_violation !== undefined) throw content_violation
  const deferred_violation = deferred === undefined ? undefined : await runDeferred(deferred)
  const violation = deferred_violation ?? specific_violation
  if (violation !== undefined) throw violation
  if (result === undefined) throw new TypeError('a schema refused a value without reporting a violation')
  return result
}
