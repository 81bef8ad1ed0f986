import { componentRef, type JsonSchema } from '#lib/contract/view.ts'
import { jsonSchemaOf } from '../json/json-schema.ts'
import { webhookResend } from '../methods/existing-payments.ts'
import type { PublicMethod } from '../methods/method.ts'
import { ENVELOPE_METHODS, PUBLIC_METHODS } from '../methods/public-methods.ts'
import { resendPath, V1_PATH, V2_PATH } from '../paths.ts'
import {
  codesByStatus,
  componentName,
  failureName,
  failureSchema,
  successSchema,
} from './envelope-schemas.ts'
import { operationOf, type PathDescription } from './operation.ts'
import {
  HEADERS,
  PARAMETERS,
  RESEND_SIGNATURE,
  SECURITY_SCHEMES,
  V1_SIGNATURE,
  V2_SIGNATURE,
} from './signatures.ts'
import { TRANSFER_PATHS, TRANSFER_SCHEMAS } from './transfer-operations.ts'

const DESCRIPTION = `Take deposits, read the status of payments and balances, and have callbacks sent again. Every request
is authenticated by its signature; there is no login and no token.

Requests are JSON in UTF-8 of at most 1 MiB, nested at most 32 levels deep, with at most 10,000 values and no key
twice in an object. A field that is not described here is refused with 9000, and so is a text with U+0000 or a lone surrogate. A missing field or a field of
the wrong type, null included, is refused with 1005. Write integers as plain digits: \`100.0\` and \`1e2\` are refused.
Lengths of texts count code points.

In a response, look at \`success\` first. Values that are not known are absent, except \`success\` and \`error\`, which are null while they do not apply. Responses may get new fields at any time, so
ignore fields that you do not know. Times are UTC, such as \`2026-11-21T10:00:00.000Z\`. Amounts are in minor units.`

const CALL_DESCRIPTION =
  'Every method is called here; the field `method` selects it. A method that does not exist or is not enabled for you is ' +
  '1002 with HTTP 404.'

const ENVELOPE_PATHS: readonly PathDescription[] = [
  {
    path: V1_PATH,
    operation_id: 'callV1',
    summary: 'Calls a method, signed with a hash of the body',
    description: CALL_DESCRIPTION,
    methods: ENVELOPE_METHODS,
    signature: V1_SIGNATURE,
  },
  {
    path: V2_PATH,
    operation_id: 'callV2',
    summary: 'Calls a method, signed with an HMAC that is valid for one request',
    description: CALL_DESCRIPTION,
    methods: ENVELOPE_METHODS,
    signature: V2_SIGNATURE,
  },
]

const RESEND_PATH_DESCRIPTION: PathDescription = {
  path: resendPath('{paymentId}'),
  operation_id: 'resendCallback',
  summary: webhookResend.summary,
  description: webhookResend.description,
  methods: [webhookResend],
  signature: RESEND_SIGNATURE,
  parameters: [componentRef('PaymentId', 'parameters')],
}

/** Makes the API reference as an OpenAPI 3.1 document. It depends on the code only, never on settings. */
export function openApiDocument(): JsonSchema {
  const paths = [...ENVELOPE_PATHS, RESEND_PATH_DESCRIPTION]
  return {
    openapi: '3.1.1',
    info: { title: 'Multihub merchant API', version: '1.0.0', description: DESCRIPTION },
    servers: [{ url: '{base_url}', variables: { base_url: { default: 'http://127.0.0.1:8080' } } }],
    paths: {
      ...Object.fromEntries(paths.map((path) => [path.path, { post: operationOf(path) }])),
      ...TRANSFER_PATHS,
    },
    components: {
      schemas: { ...methodSchemas(PUBLIC_METHODS), ...failureSchemas(), ...TRANSFER_SCHEMAS },
      parameters: PARAMETERS,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  }
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
  return { ...schema, properties: { ...properties, method: { const: name } } }
}

function failureSchemas(): Readonly<Record<string, JsonSchema>> {
  const schemas = [...codesByStatus()].map(
    ([status, codes]) => [failureName(status), failureSchema(status, codes)] as const,
  )
  return Object.fromEntries(schemas)
}
