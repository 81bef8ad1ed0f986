import { createsPayment, methodTitle } from '#lib/contract/methods.ts'
import type { JsonSchema } from '#lib/contract/view.ts'
import { jsonSchemaOf } from '../../gateway/json/json-schema.ts'
import type { PublicMethod } from '../../gateway/methods/method.ts'
import { ENVELOPE_METHODS } from '../../gateway/methods/public-methods.ts'
import { webhookResend } from '../../gateway/methods/webhook-resend.ts'

/** A type of the public interface, as the printers of all languages read it. */
export type Type =
  | { readonly kind: 'text' | 'integer' | 'money' | 'number' | 'boolean' | 'null' | 'texts' | 'map' | 'data' }
  | { readonly kind: 'constant'; readonly value: unknown }
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'list'; readonly item: Type }
  | { readonly kind: 'reference'; readonly name: string }
  | { readonly kind: 'nullable'; readonly type: Type }
  | ObjectType

/** An object. `name` is unique, for languages in which each object has a name. */
export interface ObjectType {
  readonly kind: 'object'
  readonly name: string
  readonly fields: readonly Field[]
}

/** A field of an object. */
export interface Field {
  readonly name: string
  readonly type: Type
  readonly is_required: boolean
  readonly description: string | undefined
}

/** A named type. */
export interface NamedType {
  readonly name: string
  readonly type: Type
  readonly description: string | undefined
}

/**
 * A method of the clients. `key` says what makes its repetition harmless: nothing for a read, the field `operation_id`, the
 * merchant's `c_id`, or the `c_id` of a new payment, which is looked up before it is sent again.
 */
export interface ClientMethod {
  readonly name: string
  /** `PaymentIn` for `payment.in`. */
  readonly title: string
  readonly summary: string
  readonly key: 'none' | 'operation_id' | 'c_id' | 'payment'
  /** The type of its items, if it lists something page by page. */
  readonly item: Type | undefined
  /** Whether every field of its request may be left out. */
  readonly has_defaults: boolean
}

/** What the clients of all languages are generated from. */
export interface ClientModel {
  readonly methods: readonly ClientMethod[]
  readonly types: readonly NamedType[]
}

/** The integers that are amounts. They can exceed what a floating-point number holds exactly. */
export const MONEY_FIELDS = ['value', 'value_freezing', 'value_blocking', 'amount'] as const

/** Reads the descriptors of the public methods. */
export function clientModel(): ClientModel {
  const types = new Map<string, NamedType>()
  const add = (name: string, schema: JsonSchema): void => {
    if (!types.has(name)) types.set(name, { name, type: typeOf(schema, name), description: textOf(schema) })
  }
  for (const method of [...ENVELOPE_METHODS, webhookResend]) {
    const title = methodTitle(method.name, '')
    if (method !== webhookResend) add(`${title}Request`, requestOf(method))
    for (const [name, schema] of Object.entries(method.result_components ?? {})) add(name, schema)
    add(`${title}Result`, method.result)
  }
  add('Callback', CALLBACK)
  return { methods: ENVELOPE_METHODS.map(methodOf), types: [...types.values()] }
}

const TEXT = { type: 'string' }
const OTHER = { type: 'object', additionalProperties: true }

/** What a callback holds (spec: Delivery body). */
const CALLBACK: JsonSchema = {
  description:
    'A verified callback. The same one can arrive again: `id` and the status identify it, for `payment.refunded` also the operations.',
  type: 'object',
  properties: {
    id: { type: 'string', description: 'The id of the resource and the event, joined by a colon.' },
    created_at: TEXT,
    data: {
      type: 'object',
      properties: {
        result: {
          type: 'object',
          properties: { payment: { $ref: '#/Payment' }, ticket: OTHER, refund: OTHER, chargeback: OTHER },
        },
        success: { type: 'boolean' },
        request_id: TEXT,
      },
      required: ['result', 'success', 'request_id'],
    },
    merchant_id: TEXT,
  },
  required: ['id', 'created_at', 'data', 'merchant_id'],
}

/** The request without the name of the method, which the client adds. */
function requestOf({ request }: PublicMethod): JsonSchema {
  const { method: _, ...properties } = propertiesOf(jsonSchemaOf(request))
  const params: JsonSchema = properties['params'] ?? {}
  const is_empty = requiredOf(params).length === 0
  // The client fills an absent operation_id in, and so it fills absent params in that need nothing.
  const required = requiredOf(jsonSchemaOf(request)).filter(
    (name) => !(name === 'method' || name === 'operation_id' || (name === 'params' && is_empty)),
  )
  const known = Object.entries(properties).filter(([, schema]) => schema['type'] !== undefined)
  return { type: 'object', properties: Object.fromEntries(known), required }
}

function methodOf(method: PublicMethod): ClientMethod {
  const { name, summary, result, result_components = {} } = method
  const fields = propertiesOf(jsonSchemaOf(method.request))
  const items = propertiesOf(result)['items']
  const key = createsPayment(name)
    ? 'payment'
    : 'operation_id' in fields
      ? 'operation_id'
      : /^(ticket\.create|refund\.request)$/.test(name)
        ? 'c_id'
        : 'none'
  const title = methodTitle(name, '')
  const item = items && typeOf(Object(items['items']), `${title}Item`)
  if (item !== undefined && (item.kind !== 'reference' || !(item.name in result_components)))
    throw new TypeError(`${name} lists items without a component of their own`)
  return { name, title, summary, key, item, has_defaults: requiredOf(requestOf(method)).length === 0 }
}

function typeOf(schema: JsonSchema, name: string, field = ''): Type {
  const { $ref, type, enum: words, anyOf } = schema
  if (typeof $ref === 'string') return { kind: 'reference', name: $ref.slice($ref.lastIndexOf('/') + 1) }
  if ('const' in schema) {
    const is_money = typeof schema['const'] === 'number' && MONEY_FIELDS.some((one) => one === field)
    return is_money ? { kind: 'money' } : { kind: 'constant', value: schema['const'] }
  }
  if (Array.isArray(words)) return { kind: 'words', words }
  if (Array.isArray(type)) {
    const [first] = type
    // A service_id is accepted as a text too; one form is enough.
    if (!type.includes('null')) return typeOf({ ...schema, type: first }, name, field)
    return { kind: 'nullable', type: typeOf({ ...schema, type: first }, name, field) }
  }
  switch (type) {
    case 'string':
      return { kind: 'text' }
    case 'boolean':
    case 'number':
    case 'null':
      return { kind: type }
    case 'integer':
      return { kind: MONEY_FIELDS.some((one) => one === field) ? 'money' : 'integer' }
    case 'array':
      return { kind: 'list', item: typeOf(Object(schema['items']), `${name}Item`) }
    case 'object':
      if ('properties' in schema) return objectOf(schema, name)
      return { kind: schema['additionalProperties'] === true ? 'data' : 'map' }
    default:
      // The one union: a link or a list of links.
      if (Array.isArray(anyOf) && anyOf.length === 2) return { kind: 'texts' }
      throw new TypeError(`${name} has a schema that no client can express: ${JSON.stringify(schema)}`)
  }
}

function objectOf(schema: JsonSchema, name: string): ObjectType {
  const required = requiredOf(schema)
  const fields = Object.entries(propertiesOf(schema)).map(([field, inner]) => ({
    name: field,
    type: typeOf(inner, name + pascalCase(field), field),
    is_required: required.includes(field),
    description: textOf(inner),
  }))
  return { kind: 'object', name, fields }
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return Object(schema['properties'] ?? {})
}

function requiredOf({ required }: JsonSchema): readonly string[] {
  return Array.isArray(required) ? required : []
}

function textOf({ description }: JsonSchema): string | undefined {
  return typeof description === 'string' ? description : undefined
}

/** `next_cursor` as `NextCursor`. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Every object of a type, itself included, the innermost first. */
export function objectsIn(type: Type): readonly ObjectType[] {
  switch (type.kind) {
    case 'list':
      return objectsIn(type.item)
    case 'nullable':
      return objectsIn(type.type)
    case 'object':
      return [...type.fields.flatMap((field) => objectsIn(field.type)), type]
    default:
      return []
  }
}
