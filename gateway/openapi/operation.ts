import { componentRef, type JsonSchema } from '#lib/contract/view.ts'
import { retryHeaderName } from '../http/limit-refusal.ts'
import type { PublicMethod } from '../methods/method.ts'
import { codesByStatus, componentName, failureName } from './envelope-schemas.ts'

/** A public path in the API reference: its purpose, its signature and the methods that it serves. */
export interface PathDescription {
  readonly path: string
  readonly operation_id: string
  readonly summary: string
  readonly description: string
  readonly methods: readonly PublicMethod[]
  readonly signature: SignatureDescription
  readonly parameters?: readonly object[]
}

/** How the requests and responses of a path are signed. */
export interface SignatureDescription {
  /** The names of its security schemes; a request needs all of them. */
  readonly schemes: readonly string[]
  /** The parameters that protect a request against replay. */
  readonly replay_parameters: readonly string[]
  readonly answer_header: string
}

/** The `post` operation of a path. */
export function operationOf(path: PathDescription): object {
  const { operation_id, summary, description, methods, signature, parameters = [] } = path
  const failures = [...codesByStatus().keys()].map(
    (status) => [status, failureResponse(status, signature.answer_header, methods)] as const,
  )
  return {
    operationId: operation_id,
    summary,
    description,
    security: [Object.fromEntries(signature.schemes.map((scheme) => [scheme, []]))],
    parameters: [
      ...parameters,
      ...[...signature.replay_parameters, 'RequestId'].map((name) => componentRef(name, 'parameters')),
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: requestSchema(methods), examples: examplesOf(methods) } },
    },
    responses: { 200: successResponse(path), ...Object.fromEntries(failures) },
  }
}

function requestSchema(methods: readonly PublicMethod[]): JsonSchema {
  const schemas = methods.map(({ name }) => [name, componentRef(componentName(name, 'Request'))] as const)
  const [only, another] = schemas
  if (only !== undefined && another === undefined) return only[1]
  const mapping = Object.fromEntries(schemas.map(([name, { $ref }]) => [name, $ref]))
  return { oneOf: schemas.map(([, schema]) => schema), discriminator: { propertyName: 'method', mapping } }
}

function examplesOf(methods: readonly PublicMethod[]): object {
  return Object.fromEntries(methods.map(({ name, summary, example }) => [name, { summary, value: example }]))
}

function successResponse({ methods, signature }: PathDescription): object {
  const schemas = methods.map(({ name }) => componentRef(componentName(name, 'Response')))
  return {
    description: 'Success.',
    headers: headerReferences('X-Request-ID', signature.answer_header),
    content: { 'application/json': { schema: schemas.length === 1 ? schemas[0] : { anyOf: schemas } } },
  }
}

const FAILURE_DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: 'The request was refused or failed; the code says why.',
  403: 'The credential is not permitted to do this.',
  404: 'The method or the object does not exist.',
  409: 'The request conflicts with the status of the object, or with an earlier request under the same idempotency key.',
  429: 'A quota is used up; retry after the time in `Retry-After`.',
  503:
    'A dependency is unavailable; retry later. A process that is starting or stopping also answers 503, with neither a ' +
    'body nor `X-Request-ID`.',
}

/** The response for the failures with an HTTP status, on a path with a signature also with the headers of its methods. */
export function failureResponse(
  status: number,
  answer_header = 'X-Request-ID',
  methods: readonly PublicMethod[] = [],
): object {
  const description = FAILURE_DESCRIPTIONS[status]
  if (description === undefined) throw new TypeError(`HTTP status ${status} has no description`)
  const method_headers = methods.map(({ name }) => retryHeaderName(name))
  const retry_headers = status === 429 ? ['Retry-After', ...method_headers] : []
  return {
    description,
    headers: {
      ...headerReferences('X-Request-ID', answer_header, ...retry_headers),
      // Only a response with an envelope is certain to have this header.
      ...(status === 503 && { 'X-Request-ID': componentRef('X-Request-ID-Of-Envelope', 'headers') }),
    },
    content: { 'application/json': { schema: componentRef(failureName(status)) } },
  }
}

function headerReferences(...names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, componentRef(headerComponent(name), 'headers')]))
}

/** The `Retry-After-<Method>` headers share one component. */
function headerComponent(header: string): string {
  return header.startsWith('Retry-After-') ? 'Retry-After-Method' : header
}
