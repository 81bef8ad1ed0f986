import type { Method } from '../methods/method.ts'
import { resendPath, V1_PATH, V2_PATH } from '../paths.ts'
import { codesByStatus, failureSchema, successSchema } from './envelope.ts'
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts'
import { answerName, failureName, reference, requestName } from './names.ts'
import { pageOf } from './pages.ts'
import { HEADERS, PARAMETERS, RESEND_PROOF, SECURITY_SCHEMES, V1_PROOF, V2_PROOF } from './proofs.ts'
import { RESULT_SCHEMAS } from './results.ts'
import { operationOf, type RoutePage } from './routes.ts'

const DESCRIPTION = `Take deposits, read how payments and balances stand, and have callbacks sent again. Every request is
signed; nothing else is needed.

Requests are JSON in UTF-8, at most 1 MiB, nested at most 32 deep, each key once. A field that is not described here is
refused (9000), and so is a text with U+0000 or half a surrogate pair; a missing field or one of the wrong type is 1005,
null included. Integers are written as digits: \`100.0\` and \`1e2\` are none. Lengths count code points.

Look at \`success\` first. What is not known is absent from an answer, and an answer may get new fields: pass over those
that you do not know. Instants are UTC, \`2026-11-21T10:00:00.000Z\`. Amounts are in minor units.`

const METHODS_DESCRIPTION =
  'All methods are called here; `method` says which. A method that is unknown or not switched on is 1002 with HTTP 404.'

/** What the document is made of: the methods of the envelope and that of the resend route. */
export interface DocumentOptions {
  readonly methods: Iterable<Method>
  readonly resend: Method
}

/** The merchants' reference as an OpenAPI 3.1 document. It only depends on the code: every process makes the same. */
export function openApiDocument({ methods, resend }: DocumentOptions): JsonSchema {
  const enveloped = [...methods]
  return {
    openapi: '3.1.1',
    info: { title: 'Multihub merchant API', version: '1.0.0', description: DESCRIPTION },
    servers: [{ url: '{base_url}', variables: { base_url: { default: 'http://127.0.0.1:8080' } } }],
    paths: Object.fromEntries(
      routesOf(enveloped, resend).map((route) => [route.path, { post: operationOf(route) }]),
    ),
    components: {
      schemas: {
        ...methodSchemas(enveloped, true),
        ...methodSchemas([resend], false),
        ...RESULT_SCHEMAS,
        ...failures(),
      },
      parameters: PARAMETERS,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

function routesOf(methods: readonly Method[], resend: Method): readonly RoutePage[] {
  const { summary, description } = pageOf(resend.name)
  return [
    {
      path: V1_PATH,
      operation_id: 'callV1',
      summary: 'Calls a method, signed by a hash of the body',
      description: METHODS_DESCRIPTION,
      methods,
      proof: V1_PROOF,
    },
    {
      path: V2_PATH,
      operation_id: 'callV2',
      summary: 'Calls a method, signed by an HMAC that is good for one request',
      description: METHODS_DESCRIPTION,
      methods,
      proof: V2_PROOF,
    },
    {
      path: resendPath('{paymentId}'),
      operation_id: 'resendCallback',
      summary,
      description,
      methods: [resend],
      proof: RESEND_PROOF,
      parameters: [reference('PaymentId', 'parameters')],
    },
  ]
}

/** The requests and answers of methods; in an envelope the request's `method` is the method's name. */
function methodSchemas(
  methods: readonly Method[],
  is_enveloped: boolean,
): Readonly<Record<string, JsonSchema>> {
  const schemas = methods.flatMap(({ name, shape }) => {
    const request = jsonSchemaOf(shape)
    return [
      [requestName(name), is_enveloped ? withMethod(request, name) : request],
      [answerName(name), successSchema(pageOf(name).result)],
    ] as const
  })
  return Object.fromEntries(schemas)
}

function withMethod(request: JsonSchema, name: string): JsonSchema {
  return { ...request, properties: { ...Object(request['properties']), method: { const: name } } }
}

function failures(): Readonly<Record<string, JsonSchema>> {
  const schemas = [...codesByStatus()].map(
    ([status, codes]) => [failureName(status), failureSchema(status, codes)] as const,
  )
  return Object.fromEntries(schemas)
}
