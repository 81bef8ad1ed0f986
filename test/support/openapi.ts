import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of the document
const readDocument = (name: string): any =>
  JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'merchants', name), 'utf8'))

/** The committed OpenAPI document of the merchants' reference. */
export const OPENAPI_DOCUMENT = readDocument('openapi.json')

/** The same for credentials of v2. */
export const OPENAPI_DOCUMENT_V2 = readDocument('openapi-v2.json')

/** Lists how a value violates a schema of the reference. Empty if the value is valid. */
export type SchemaCheck = (value: unknown) => readonly string[]

/** The check of a schema, which a pointer such as `#/components/schemas/Payment` names. */
export const violationsOf = schemaChecks(OPENAPI_DOCUMENT)

/** The same, but no object may have a property that the reference does not describe, so nothing stays undocumented. */
export const strictViolationsOf = schemaChecks(closeObjects(OPENAPI_DOCUMENT))

function schemaChecks(document: object): (pointer: string) => SchemaCheck {
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
    allErrors: true,
  })
  formats.default(ajv)
  // Keywords of OpenAPI, and formats that are hints for people.
  ajv.addVocabulary(['x-retry', ...Object.keys(document)])
  ajv.addFormat('idn-email', true)
  ajv.addFormat('iri', true)
  ajv.addSchema(document, 'reference')
  return (pointer) => {
    const validate = ajv.getSchema(`reference${pointer}`)
    if (validate === undefined) throw new Error(`the reference has no ${pointer}`)
    return (value) =>
      validate(value)
        ? []
        : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
}

function closeObjects<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(closeObjects) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closeObjects(value)]))
  const is_object = inner['type'] === 'object' && 'properties' in inner
  return (is_object ? { additionalProperties: false, ...inner } : inner) as T
}
