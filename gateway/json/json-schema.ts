import { type JsonSchema, record } from '#lib/contract/view.ts'
import type { FieldShape, ObjectShape, Shape } from './schema.ts'

/**
 * Translates a shape to JSON Schema. Objects accept no other fields; fields that do not apply are left out. JSON Schema
 * sees values only, so the document says in words how integers must be written and that a key must occur once.
 */
export function jsonSchemaOf(shape: Shape): JsonSchema {
  const { description } = shape
  return { ...(description === undefined ? {} : { description }), ...keywordsOf(shape) }
}

function keywordsOf(shape: Shape): JsonSchema {
  switch (shape.type) {
    case 'anything':
      return {}
    case 'object':
      return { ...recordOf(shape.fields), ...presenceKeywords(shape), additionalProperties: false }
    case 'word':
      return { type: 'string', enum: shape.words }
    case 'list':
      return { type: 'array', items: jsonSchemaOf(shape.item), maxItems: shape.max }
    case 'text': {
      const { min, max, pattern, format } = shape
      return { type: 'string', minLength: min, maxLength: max, pattern, ...definedOf({ format }) }
    }
    case 'integer': {
      const { min, max, text_pattern } = shape
      const type = text_pattern === undefined ? 'integer' : ['integer', 'string']
      return {
        type,
        ...definedOf({ minimum: toNumber(min), maximum: toNumber(max), pattern: text_pattern }),
      }
    }
  }
}

function recordOf(fields: Readonly<Record<string, FieldShape>>): JsonSchema {
  const shown = Object.entries(fields).filter(([, { presence }]) => presence !== 'not_applicable')
  const optional = shown.filter(([, { presence }]) => presence !== 'required').map(([name]) => name)
  return record(Object.fromEntries(shown.map(([name, field]) => [name, jsonSchemaOf(field)])), optional)
}

function presenceKeywords({ at_least_one, exactly_one, required_for }: ObjectShape): JsonSchema {
  const requiredOf = (names: readonly string[]): readonly JsonSchema[] =>
    names.map((name) => ({ required: [name] }))
  return definedOf({
    anyOf: at_least_one && requiredOf(at_least_one),
    oneOf: exactly_one && requiredOf(exactly_one),
    if: required_for && {
      properties: { [required_for.of]: { enum: required_for.words } },
      required: [required_for.of],
    },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: required_for && { required: [required_for.field] },
  })
}

function toNumber(bound: bigint | undefined): number | undefined {
  return bound === undefined ? undefined : Number(bound)
}

function definedOf(keywords: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(keywords).filter(([, value]) => value !== undefined))
}
