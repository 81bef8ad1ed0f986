import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

const PATH = join(import.meta.dirname, '..', '..', 'docs', 'merchants', 'openapi.json')

/** The committed reference of merchants. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks wherever it likes into a document
export const REFERENCE: any = JSON.parse(readFileSync(PATH, 'utf8'))

/** Says what is wrong with a value by a schema of the reference; nothing when it fits. */
export type Finder = (value: unknown) => readonly string[]

/** What the reference takes for a schema, by a pointer such as `#/components/schemas/Payment`. */
export const takenBy = findersOf(REFERENCE)

/** The same, but an object may have no member that the reference does not describe: nothing new goes by in silence. */
export const describedBy = findersOf(sealed(REFERENCE))

function findersOf(document: object): (pointer: string) => Finder {
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
    allErrors: true,
  })
  formats.default(ajv)
  // Words of OpenAPI, and formats that only tell people something.
  ajv.addVocabulary(['discriminator', ...Object.keys(document)])
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

function sealed<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(sealed) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, sealed(value)]))
  const closes = inner['type'] === 'object' && 'properties' in inner
  return (closes ? { additionalProperties: false, ...inner } : inner) as T
}
