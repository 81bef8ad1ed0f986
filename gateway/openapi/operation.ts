import { lowerFirst } from '#lib/base/letter-case.ts'
import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { methodTitle, supportResourceOf } from '#lib/contract/methods.ts'
import { componentRef } from '#lib/contract/view.ts'
import { retryHeaderName } from '../http/limit-refusal.ts'
import type { PublicMethod } from '../methods/method.ts'
import { codeSamples } from './code-samples.ts'
import { componentName, type FailureDescription, failureName, failuresOf } from './envelope-schemas.ts'
import { RECORDED, type RecordedError } from './recorded.ts'

/** How the requests and responses of a path are signed. */
export interface SignatureDescription {
  /** The names of its security schemes; a request needs all of them. */
  readonly schemes: readonly string[]
  /** The parameters that protect a request against replay. */
  readonly replay_parameters: readonly string[]
  readonly answer_header: string
}

/** The groups of operations, in the order of the reference. */
export const TAGS: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'Payments', description: 'Deposits, withdrawals and their status.' },
  { name: 'Balances', description: 'What you own, per currency.' },
  { name: 'Tickets', description: 'Conversations with the operator.' },
  { name: 'Refunds', description: 'Deposits that you give back.' },
  { name: 'Chargebacks', description: 'Deposits that a bank has taken back.' },
  { name: 'Attachments', description: 'Files of tickets, comments and chargebacks.' },
  { name: 'System', description: 'Whether your signature is right.' },
  { name: 'Callbacks', description: 'What Multihub sends to you, and how to have it sent again.' },
]

const TAG_OF: Readonly<Record<string, string>> = {
  payment: 'Payments',
  balance: 'Balances',
  ticket: 'Tickets',
  refund: 'Refunds',
  chargeback: 'Chargebacks',
  attachment: 'Attachments',
  gateway: 'System',
  webhook: 'Callbacks',
}

/** The `operationId` of a method: `paymentIn` for `payment.in`. */
export function operationId(method: string): string {
  return lowerFirst(methodTitle(method, ''))
}

/** The `post` operation of a method, with its further `parameters`. */
export function operationOf(
  method: PublicMethod,
  signature: SignatureDescription,
  parameters: readonly string[] = [],
): object {
  const { name, summary, example } = method
  const [resource = ''] = name.split('.')
  const described = failuresOf(method)
  const failures = [...described.refusals.keys()].map(
    (status) => [status, failureResponse(described, status, signature.answer_header, method)] as const,
  )
  const { request = example, response } = RECORDED.exchanges[name] ?? {}
  return {
    operationId: operationId(name),
    summary,
    description: descriptionOf(method),
    tags: [TAG_OF[resource]],
    security: [Object.fromEntries(signature.schemes.map((scheme) => [scheme, []]))],
    parameters: [...parameters, ...signature.replay_parameters, 'RequestId'].map((parameter) =>
      componentRef(parameter, 'parameters'),
    ),
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: componentRef(componentName(name, 'Request')), example: request },
      },
    },
    'x-codeSamples': codeSamples(name, request, signature.replay_parameters.includes('Nonce') ? 'v1' : 'v2'),
    responses: {
      200: {
        description: 'Success.',
        headers: headerReferences('X-Request-ID', signature.answer_header),
        content: {
          'application/json': {
            schema: componentRef(componentName(name, 'Response')),
            ...(response && { example: response }),
          },
        },
      },
      ...Object.fromEntries(failures),
    },
  }
}

/** The description of a method, with its scope and quota. */
function descriptionOf({ description, scope, default_quota }: PublicMethod): string {
  const needed = scope === undefined ? [] : [`Needs the scope \`${scope}\`.`]
  const quota =
    default_quota === undefined ? [] : [`${default_quota.toLocaleString('en-US')} calls per minute.`]
  return [description, [...needed, ...quota].join(' ')].filter(Boolean).join('\n\n')
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

/** The response for the failures of an operation with an HTTP status, for a method also with its own header and examples. */
export function failureResponse(
  failures: FailureDescription,
  status: number,
  answer_header = 'X-Request-ID',
  method?: Pick<PublicMethod, 'name'>,
): object {
  const description = FAILURE_DESCRIPTIONS[status]
  if (description === undefined) throw new TypeError(`HTTP status ${status} has no description`)
  const method_headers = method === undefined ? [] : [retryHeaderName(method.name)]
  const retry_headers = status === 429 ? ['Retry-After', ...method_headers] : []
  const examples = method === undefined ? [] : examplesOf(status, method.name)
  return {
    description,
    headers: {
      ...headerReferences('X-Request-ID', answer_header, ...retry_headers),
      // Only a response with an envelope is certain to have this header.
      ...(status === 503 && { 'X-Request-ID': componentRef('X-Request-ID-Of-Envelope', 'headers') }),
    },
    content: {
      'application/json': {
        schema: componentRef(failureName(failures, status)),
        ...(examples.length > 0 && { examples: Object.fromEntries(examples) }),
      },
    },
  }
}

const exampleName = ({ method, body }: RecordedError): string =>
  [...(method === undefined ? [] : [methodTitle(method, '')]), body.error.code].join('-')

/** References to the refusals of a method, under their codes. */
function examplesOf(status: number, method: string): readonly (readonly [string, object])[] {
  const is_support = supportResourceOf(method) !== undefined
  return RECORDED.errors
    .filter(({ http_status }) => http_status === status)
    .filter(
      (error) => error.method === method || (error.method === undefined && (status !== 503 || is_support)),
    )
    .map((error) => [String(error.body.error.code), componentRef(exampleName(error), 'examples')])
}

/** Every recorded refusal, under the name by which operations refer to it. */
export const ERROR_EXAMPLES: Readonly<Record<string, object>> = Object.fromEntries(
  RECORDED.errors.map((error) => {
    const { code } = error.body.error
    const summary = isErrorCode(code) ? `${code}: ${ERROR_TABLE[code].message}` : String(code)
    return [exampleName(error), { summary, value: error.body }]
  }),
)

function headerReferences(...names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, componentRef(headerComponent(name), 'headers')]))
}

/** The `Retry-After-<Method>` headers share one component. */
function headerComponent(header: string): string {
  return header.startsWith('Retry-After-') ? 'Retry-After-Method' : header
}
