import { PublicError } from '#lib/contract/errors/public-error.ts'
import { retryHeaders } from '../limits/refusal.ts'
import type { Method } from '../methods/method.ts'
import { codesByStatus } from './envelope.ts'
import type { JsonSchema } from './json-schema.ts'
import { answerName, failureName, reference, requestName } from './names.ts'
import { pageOf } from './pages.ts'

/** One public route in the reference: where it is, what it is for, how it is signed and which requests it takes. */
export interface RoutePage {
  readonly path: string
  readonly operation_id: string
  readonly summary: string
  readonly description: string
  readonly methods: readonly Method[]
  readonly proof: ProofPage
  readonly parameters?: readonly object[]
}

/** How the requests and answers of a route are signed, as the reference tells it. */
export interface ProofPage {
  /** The names of its security schemes, all of which are needed. */
  readonly schemes: readonly string[]
  /** The parameters of its replay proof. */
  readonly replay: readonly string[]
  readonly answer_header: string
}

/** The `post` of a route in the document. */
export function operationOf(route: RoutePage): object {
  const { operation_id, summary, description, methods, proof, parameters = [] } = route
  const failures = [...codesByStatus().keys()].map(
    (status) => [status, failureResponse(status, route)] as const,
  )
  return {
    operationId: operation_id,
    summary,
    description,
    security: [Object.fromEntries(proof.schemes.map((scheme) => [scheme, []]))],
    parameters: [
      ...parameters,
      ...[...proof.replay, 'RequestId'].map((name) => reference(name, 'parameters')),
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: requestOf(methods), examples: examplesOf(methods) } },
    },
    responses: { 200: successResponse(route), ...Object.fromEntries(failures) },
  }
}

function requestOf(methods: readonly Method[]): JsonSchema {
  const schemas = methods.map(({ name }) => [name, reference(requestName(name))] as const)
  const [only, another] = schemas
  if (only !== undefined && another === undefined) return only[1]
  const mapping = Object.fromEntries(schemas.map(([name, { $ref }]) => [name, $ref]))
  return { oneOf: schemas.map(([, schema]) => schema), discriminator: { propertyName: 'method', mapping } }
}

function examplesOf(methods: readonly Method[]): object {
  const pages = methods.map(({ name }) => [name, pageOf(name)] as const)
  return Object.fromEntries(pages.map(([name, { summary, example }]) => [name, { summary, value: example }]))
}

function successResponse({ methods, proof }: RoutePage): object {
  const schemas = methods.map(({ name }) => reference(answerName(name)))
  return {
    description: 'It was done.',
    headers: headersOf('X-Request-ID', proof.answer_header),
    content: { 'application/json': { schema: schemas.length === 1 ? schemas[0] : { anyOf: schemas } } },
  }
}

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'It was refused, or it failed: see the code.',
  403: 'The credential may not do this.',
  404: 'The method or the resource is not there.',
  409: 'The state, or an earlier request with this key, stands against it.',
  429: 'A quota is used up.',
  503:
    'Something that is needed for this is away. A process that is just starting or stopping answers 503 too, with ' +
    'neither a body nor `X-Request-ID`.',
}

function failureResponse(status: number, { methods, proof }: RoutePage): object {
  const description = MEANINGS[status]
  if (description === undefined) throw new TypeError(`the reference does not know the HTTP status ${status}`)
  const retry = status === 429 ? retryHeaderNames(methods) : []
  return {
    description,
    headers: {
      ...headersOf('X-Request-ID', proof.answer_header, ...retry),
      // Only the envelope is sure to have one.
      ...(status === 503 && { 'X-Request-ID': reference('X-Request-ID-Of-Envelope', 'headers') }),
    },
    content: { 'application/json': { schema: reference(failureName(status)) } },
  }
}

/** The names of the headers that a refusal for each of these methods has, as the refusal makes them. */
function retryHeaderNames(methods: readonly Method[]): readonly string[] {
  const names = methods.flatMap(({ name: bucket }) => {
    const refusal = new PublicError(1000, { http: 429, details: { bucket, retry_after_seconds: 1 } })
    return retryHeaders(refusal).filter((_, index) => index % 2 === 0)
  })
  return [...new Set(names)]
}

function headersOf(...names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, reference(componentOf(name), 'headers')]))
}

/** The waits of the methods are all alike. */
function componentOf(header: string): string {
  return header.startsWith('Retry-After-') ? 'Retry-After-Method' : header
}
