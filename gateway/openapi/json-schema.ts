import type { FieldShape, Shape } from '../json/schema.ts'

/** A schema in the words of JSON Schema 2020-12, which are those of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * What a shape takes, as JSON Schema. Objects take no other fields, and what does not apply is left out. JSON Schema
 * looks at values: how an integer is written (`100.0`) and that a key comes once are said in the document's text.
 */
export function jsonSchemaOf(shape: Shape): JsonSchema {
  const { description } = shape
  return { ...(description === undefined ? {} : { description }), ...rulesOf(shape) }
}

function rulesOf(shape: Shape): JsonSchema {
  switch (shape.type) {
    case 'anything':
      return {}
    case 'object':
      return {
        ...record(...fieldsOf(shape.fields)),
        ...oneOfThem(shape.at_least_one),
        additionalProperties: false,
      }
    case 'list':
      return { type: 'array', items: jsonSchemaOf(shape.item), maxItems: shape.max }
    case 'text': {
      const { min, max, pattern, format } = shape
      return {
        type: 'string',
        minLength: min,
        maxLength: max,
        pattern,
        ...(format === undefined ? {} : { format }),
      }
    }
    case 'integer': {
      const { min, max, text_pattern } = shape
      const type = text_pattern === undefined ? 'integer' : ['integer', 'string']
      return { type, ...given({ minimum: numberOf(min), maximum: numberOf(max), pattern: text_pattern }) }
    }
  }
}

function fieldsOf(
  fields: Readonly<Record<string, FieldShape>>,
): [Record<string, JsonSchema>, readonly string[]] {
  const shown = Object.entries(fields).filter(([, { presence }]) => presence !== 'not_applicable')
  const optional = shown.filter(([, { presence }]) => presence !== 'required').map(([name]) => name)
  return [Object.fromEntries(shown.map(([name, field]) => [name, jsonSchemaOf(field)])), optional]
}

function oneOfThem(names: readonly string[]): JsonSchema {
  return names.length === 0 ? {} : { anyOf: names.map((name) => ({ required: [name] })) }
}

/** The schema of an object with these properties, all of which have to be there but the `optional` ones. */
export function record(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
}

function numberOf(bound: bigint | undefined): number | undefined {
  return bound === undefined ? undefined : Number(bound)
}

function given(keywords: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(keywords).filter(([, value]) => value !== undefined))
}
