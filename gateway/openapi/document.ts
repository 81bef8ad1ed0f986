import { RESEND_METHOD } from '#lib/contract/methods.ts'
import type { JsonSchema } from '#lib/contract/view.ts'
import { jsonSchemaOf } from '../json/json-schema.ts'
import type { PublicMethod } from '../methods/method.ts'
import { PUBLIC_METHODS } from '../methods/public-methods.ts'
import { resendPath, V1_PATH, V2_PATH } from '../paths.ts'
import { componentName, failureSchemas, failuresOf, successSchema } from './envelope-schemas.ts'
import { ERROR_EXAMPLES, operationOf, type SignatureDescription, TAGS } from './operation.ts'
import {
  HEADERS,
  PARAMETERS,
  resendSignature,
  SECURITY_SCHEMES,
  V1_SIGNATURE,
  V2_SIGNATURE,
} from './signatures.ts'
import { TRANSFER_FAILURES, TRANSFER_PATHS, TRANSFER_SCHEMAS } from './transfer-operations.ts'
import { WEBHOOK_SCHEMAS, WEBHOOKS } from './webhooks.ts'

/** The version of the public interface, which a credential is for. Each has a document of its own. */
export type ApiVersion = 'v1' | 'v2'

const VERSIONS: Readonly<
  Record<ApiVersion, { readonly path: string; readonly signature: SignatureDescription }>
> = {
  v1: { path: V1_PATH, signature: V1_SIGNATURE },
  v2: { path: V2_PATH, signature: V2_SIGNATURE },
}

const describe = (path: string): string =>
  `Take deposits, pay out, read payments and balances, and receive signed callbacks. Every request
is authenticated by its signature; there is no login and no token.

All methods have the one path \`${path}\`: the field \`method\` of the body selects the method. **What follows \`#\` in a path
of this document only names an operation. It is not sent, and it is never part of what you sign.**

Requests are JSON in UTF-8 of at most 1 MiB, nested at most 32 levels deep, with at most 10,000 values and no key
twice in an object. A field that is not described here is refused with 9000, and so is a text with U+0000 or a lone surrogate. A missing field or a field of
the wrong type, null included, is refused with 1005. Write integers as plain digits: \`100.0\` and \`1e2\` are refused.
Lengths of texts count code points.

In a response, look at \`success\` first. Values that are not known are absent, except \`success\` and \`error\`, which are null while they do not apply. Responses may get new fields at any time, so
ignore fields that you do not know. Times are UTC, such as \`2026-11-21T10:00:00.000Z\`. Amounts are in minor units.`

/** Makes the API reference of a version as an OpenAPI 3.1 document. It depends on the code only, never on settings. */
export function openApiDocument(version: ApiVersion): JsonSchema {
  const { path, signature } = VERSIONS[version]
  const operations = PUBLIC_METHODS.map((method) =>
    method.name === RESEND_METHOD
      ? [resendPath('{paymentId}'), operationOf(method, resendSignature(version), ['PaymentId'])]
      : [operationPath(path, method.name), operationOf(method, signature)],
  )
  return {
    openapi: '3.1.1',
    info: {
      title: `Multihub merchant API ${version}`,
      version: '1.0.0',
      description: describe(path),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '{base_url}', variables: { base_url: { default: 'http://127.0.0.1:8080' } } }],
    tags: TAGS,
    paths: {
      ...Object.fromEntries(operations.map(([key, operation]) => [key, { post: operation }])),
      ...TRANSFER_PATHS,
    },
    webhooks: WEBHOOKS,
    components: {
      schemas: {
        ...methodSchemas(PUBLIC_METHODS),
        ...failureSchemas([...PUBLIC_METHODS.map(failuresOf), ...TRANSFER_FAILURES]),
        ...TRANSFER_SCHEMAS,
        ...WEBHOOK_SCHEMAS,
      },
      parameters: PARAMETERS,
      headers: HEADERS,
      examples: ERROR_EXAMPLES,
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

/** The key of a method in `paths`. HTTP sends no fragment, so all keys are the one path. */
export function operationPath(path: string, method: string): string {
  return `${path}#${method}`
}

/** The schemas of the requests and responses of methods. Throws if two methods mean different things by one name. */
export function methodSchemas(methods: readonly PublicMethod[]): Readonly<Record<string, JsonSchema>> {
  const schemas = new Map<string, JsonSchema>()
  for (const method of methods) {
    const { name, result, result_components = {} } = method
    const own = {
      [componentName(name, 'Request')]: requestSchema(method),
      [componentName(name, 'Response')]: successSchema(componentName(name, 'Result')),
      [componentName(name, 'Result')]: result,
      ...result_components,
    }
    for (const [component, schema] of Object.entries(own)) {
      const existing = schemas.get(component) ?? schema
      if (existing !== schema) throw new TypeError(`two methods have different schemas named ${component}`)
      schemas.set(component, schema)
    }
  }
  return Object.fromEntries(schemas)
}

/** In the request envelope, the field `method` is the name of the method. The resend path has no such field. */
function requestSchema({ name, request }: PublicMethod): JsonSchema {
  const schema = jsonSchemaOf(request)
  const properties: JsonSchema = Object(schema['properties'])
  if (!('method' in properties)) return schema
  return { ...schema, properties: { ...properties, method: { type: 'string', const: name } } }
}
