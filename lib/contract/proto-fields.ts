import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { fieldError } from './errors/public-error.ts'

/** A text field that must not be empty. Throws 1005 with `path`, its dotted name in the request. */
export function requiredText(text: string, path: string): string {
  if (text === '') throw fieldError(1005, path)
  return text
}

/** A message field that must be present. Throws 1005 with its dotted path. */
export function requiredMessage<M extends object>(message: M | undefined, path: string): M {
  if (message === undefined) throw fieldError(1005, path)
  return message
}

/** A mapping in both directions between names in code and the values of a proto enum. */
export type EnumMap<Name extends string, Value extends number> = ReturnType<typeof createEnumMap<Name, Value>>

/** The names of a mapping, which the type of the values in code follows. */
export type EnumName<Map extends { readonly names: readonly string[] }> = Map['names'][number]

/** Creates the mapping from one record, so that the two directions cannot differ. 0 is "unspecified" in every enum. */
export function createEnumMap<Name extends string, Value extends number>(
  values: Readonly<Record<Name, Value>>,
) {
  const names = new Map<number, Name>()
  for (const name in values) names.set(values[name], name)

  /** The name of a field that may be absent: `undefined` for 0. Throws 9000 for an unknown value. */
  const optional = (value: number, path: string): Name | undefined => {
    if (value === 0) return undefined
    const name = names.get(value)
    if (name !== undefined) return name
    throw fieldError(9000, path, `one of ${[...names.values()].join(', ')}`)
  }
  /** The name of a field that must be set. Throws 1005 for 0 and 9000 for an unknown value, both with its path. */
  const required = (value: number, path: string): Name => {
    const name = optional(value, path)
    if (name === undefined) throw fieldError(1005, path)
    return name
  }
  return {
    toProto(name: Name): Value {
      return values[name]
    },
    /** The name of a value; `undefined` for 0 and for values that this version does not know. */
    fromProto: (value: number) => names.get(value),
    /** All names, in the order of the record. */
    names: [...names.values()] as readonly Name[],
    /** The name of a value that this system wrote itself. Throws `TypeError`, with `what`, for 0 and an unknown value. */
    fromProtoOrThrow(value: number, what: string): Name {
      const name = names.get(value)
      if (name === undefined) throw new TypeError(`unknown ${what} ${value}`)
      return name
    },
    optional,
    required,
    /** The names of the values of a list field, each as `required`: the path of the third one is `path.2`. */
    requiredEach: (listed: readonly number[], path: string) =>
      listed.map((value, index) => required(value, `${path}.${index}`)),
  }
}

/** Maps the timestamps of a document. */
export function timesToProto(document: { readonly created_at: Date; readonly updated_at: Date }): {
  createTime: Timestamp
  updateTime: Timestamp
} {
  return {
    createTime: timestampFromDate(document.created_at),
    updateTime: timestampFromDate(document.updated_at),
  }
}
