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
export interface EnumMap<Name extends string, Value extends number> {
  toProto(name: Name): Value
  /** The name of a value; `undefined` for 0 and for values that this version does not know. */
  fromProto(value: number): Name | undefined
  /** All names, in the order of the record. */
  readonly names: readonly Name[]
  /** The name of a value that this system wrote itself. Throws `TypeError`, with `what`, for 0 and an unknown value. */
  fromProtoOrThrow(value: number, what: string): Name
  /** The name of a field that must be set. Throws 1005 for 0 and 9000 for an unknown value, both with its path. */
  required(value: number, path: string): Name
  /** The names of the values of a list field, each as `required`: the path of the third one is `path.2`. */
  requiredEach(values: readonly number[], path: string): Name[]
  /** The name of a field that may be absent: `undefined` for 0. Throws 9000 for an unknown value. */
  optional(value: number, path: string): Name | undefined
}

/** The names of a mapping, which the type of the values in code follows. */
export type EnumName<Map extends EnumMap<string, number>> = Map['names'][number]

/** Creates the mapping from one record, so that the two directions cannot differ. 0 is "unspecified" in every enum. */
export function createEnumMap<Name extends string, Value extends number>(
  values: Readonly<Record<Name, Value>>,
): EnumMap<Name, Value> {
  const names = new Map<number, Name>()
  for (const name in values) names.set(values[name], name)

  const optional = (value: number, path: string): Name | undefined => {
    if (value === 0) return undefined
    const name = names.get(value)
    if (name !== undefined) return name
    throw fieldError(9000, path, `one of ${[...names.values()].join(', ')}`)
  }
  const required = (value: number, path: string): Name => {
    const name = optional(value, path)
    if (name === undefined) throw fieldError(1005, path)
    return name
  }
  return {
    toProto: (name) => values[name],
    fromProto: (value) => names.get(value),
    names: [...names.values()],
    fromProtoOrThrow(value, what) {
      const name = names.get(value)
      if (name === undefined) throw new TypeError(`unknown ${what} ${value}`)
      return name
    },
    optional,
    required,
    requiredEach: (listed, path) => listed.map((value, index) => required(value, `${path}.${index}`)),
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
