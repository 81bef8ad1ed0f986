import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { EnumMap } from './proto-fields.ts'

/** A schema in JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The schema of an object with these properties. All of them are required except the `optional` ones. */
export function record(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
}

/** A `$ref` to a component of the API reference. */
export function componentRef(
  name: string,
  kind: 'schemas' | 'parameters' | 'headers' | 'examples' = 'schemas',
): JsonSchema {
  return { $ref: `#/components/${kind}/${name}` }
}

/** Who sees a resource: the caller of a method, or the receiver of a callback, which leaves some fields out (S12). */
export type ViewAudience = 'response' | 'callback'

/** A field as merchants see it: its schema, and how its value is read from the message of a service. */
export interface ViewField<M> {
  readonly schema: JsonSchema
  /** `undefined` leaves the field out, which only an optional field may. */
  readonly read: (message: M, audience: ViewAudience) => unknown
  readonly is_optional?: boolean
  readonly is_hidden_from_callbacks?: boolean
}

interface ObjectField<M> extends ViewField<M> {
  /** The schema of what a callback shows. */
  readonly callback_schema: JsonSchema
  readonly read: (message: M, audience: ViewAudience) => Readonly<Record<string, unknown>>
}

type ViewFields<M> = Readonly<Record<string, ViewField<M>>>

/** A field with any schema. */
export function field<M>(schema: JsonSchema, read: ViewField<M>['read']): ViewField<M> {
  return { schema, read }
}

/** A text, with more keywords of its schema. */
export function textField<M>(
  read: (message: M) => string | undefined,
  keywords: JsonSchema = {},
): ViewField<M> {
  return { schema: { type: 'string', ...keywords }, read }
}

/** A time as `YYYY-MM-DDTHH:mm:ss.SSSZ` (E15). */
export function instantField<M>(
  read: (message: M) => Timestamp | undefined,
  description?: string,
): ViewField<M> {
  const schema = { type: 'string', format: 'date-time', ...(description !== undefined && { description }) }
  return {
    schema,
    read(message) {
      const time = read(message)
      return time && timestampDate(time).toISOString()
    },
  }
}

/** One word of a fixed set: the field `name` of the message. */
export function wordField<Name extends string>(
  words: Pick<EnumMap<string, number>, 'names' | 'fromProtoOrThrow'>,
  name: Name,
  keywords: JsonSchema = {},
): ViewField<Readonly<Record<Name, number>>> {
  return {
    schema: { type: 'string', enum: words.names, ...keywords },
    read: (message) => words.fromProtoOrThrow(message[name], name),
  }
}

/** A field that is left out while `read` returns `undefined`. */
export function optionalField<M>(field: ViewField<M>): ViewField<M> {
  return { ...field, is_optional: true }
}

/** A field that only responses show (S12). */
export function hiddenFromCallbacks<M>(field: ViewField<M>): ViewField<M> {
  return { ...field, is_hidden_from_callbacks: true }
}

/** An object inside a resource. */
export function objectField<M>(fields: ViewFields<M>): ObjectField<M> {
  const entries = Object.entries(fields)
  const in_responses = entries.map(([name, field]) => ({ name, ...field }))
  const in_callbacks = in_responses.filter(({ is_hidden_from_callbacks }) => !is_hidden_from_callbacks)
  return {
    schema: recordOf(in_responses),
    callback_schema: recordOf(in_callbacks),
    read(message, audience) {
      const shown: Record<string, unknown> = {}
      for (const field of audience === 'callback' ? in_callbacks : in_responses) {
        const value = field.read(message, audience)
        if (value !== undefined) shown[field.name] = value
        else if (!field.is_optional) throw new TypeError(`a message has no value for ${field.name}`)
      }
      return shown
    },
  }
}

function recordOf<M>(fields: readonly (ViewField<M> & { readonly name: string })[]): JsonSchema {
  const properties = Object.fromEntries(fields.map(({ name, schema }) => [name, schema]))
  const optional = fields.filter(({ is_optional }) => is_optional)
  return record(
    properties,
    optional.map(({ name }) => name),
  )
}

/** An object whose fields can all be absent. It is left out when they are. */
export function partialField<M>(fields: ViewFields<M>): ViewField<M> {
  const optional = Object.entries(fields).map(([name, field]) => [name, optionalField(field)] as const)
  const { schema, read } = objectField<M>(Object.fromEntries(optional))
  return optionalField({
    schema,
    read(message, audience) {
      const shown = read(message, audience)
      return Object.keys(shown).length === 0 ? undefined : shown
    },
  })
}

/** A field whose value is read from a part of the message. It has no value while the message has no such part. */
export function within<M, Part>(
  partOf: (message: M) => Part | undefined,
  field: ViewField<Part>,
): ViewField<M> {
  return {
    ...field,
    read(message, audience) {
      const part = partOf(message)
      return part === undefined ? undefined : field.read(part, audience)
    },
  }
}

/** How a kind of resource looks in responses and callbacks: a component of the API reference, and how it is rendered. */
export interface View<M> extends ViewField<M> {
  /** The schema of the resource in callbacks. */
  readonly callback_schema: JsonSchema
  /** The component, and those that it refers to. */
  readonly components: Readonly<Record<string, JsonSchema>>
  /** Makes the public object. Throws `TypeError` without a message, or for one without a required field. */
  readonly render: (message: M | undefined, audience?: ViewAudience) => object
}

/** Describes a kind of resource by its fields, in their public order. `parts` are the views that fields refer to. */
export function defineView<M>(
  name: string,
  fields: ViewFields<M>,
  {
    parts = [],
    description,
  }: { readonly parts?: readonly Pick<View<never>, 'components'>[]; readonly description?: string } = {},
): View<M> {
  const { schema, callback_schema, read } = objectField(fields)
  return {
    schema: componentRef(name),
    callback_schema,
    read,
    components: Object.assign(
      { [name]: { ...(description !== undefined && { description }), ...schema } },
      ...parts.map(({ components }) => components),
    ),
    render(message, audience = 'response') {
      if (message === undefined) throw new TypeError(`a service answered without a ${name}`)
      return read(message, audience)
    },
  }
}

/** A list of parts of a resource, with more keywords of its schema. */
export function listField<M, Part>(
  { schema, read: readPart }: ViewField<Part>,
  read: (message: M) => readonly Part[],
  keywords: JsonSchema = {},
): ViewField<M> {
  return {
    schema: { type: 'array', items: schema, ...keywords },
    read: (message, audience) => read(message).map((part) => readPart(part, audience)),
  }
}
