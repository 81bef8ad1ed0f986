import { ATTACHMENT_STATUSES } from '#lib/contract/attachments.ts'
import { ERROR_ADVICE } from '#lib/contract/errors/error-advice.ts'
import { retryWord } from '#lib/contract/errors/error-retry.ts'
import { ERROR_TABLE, type ErrorCode } from '#lib/contract/errors/error-table.ts'
import { methodTitle } from '#lib/contract/methods.ts'
import { TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { componentRef, type JsonSchema, record } from '#lib/contract/view.ts'
import type { PublicMethod } from '../methods/method.ts'
import { COMMON_REFUSALS, type Refusals, withRefusals } from '../methods/refusals.ts'

/** The component for a part of the calls of a method: `PaymentInRequest` for `payment.in`. A response has the envelope. */
export function componentName(method: string, part: 'Request' | 'Response' | 'Result'): string {
  return methodTitle(method, '') + part
}

/** What the reference says of the failures of one operation. */
export interface FailureDescription {
  /** Begins the names of components that only this operation has, such as `PaymentIn`. */
  readonly title: string
  readonly refusals: Refusals
}

/** The failures of a method. */
export function failuresOf({ name, refusals }: Pick<PublicMethod, 'name' | 'refusals'>): FailureDescription {
  return { title: methodTitle(name, ''), refusals: withRefusals(refusals) }
}

/** The component for the failures of an operation with an HTTP status. All with only the common codes share one. */
export function failureName({ title, refusals }: FailureDescription, status: number): string {
  const is_common = String(refusals.get(status)) === String(COMMON_REFUSALS.get(status))
  return is_common ? `Failure${status}` : `${title}Failure${status}`
}

const REQUEST_ID = { type: 'string', format: 'uuid', description: 'The same as the header X-Request-ID.' }
const PROCESSING_TIME = { type: 'number', minimum: 0, description: 'In milliseconds.' }

/** The envelope of a success (E2), around the component named `result`. */
export function successSchema(result: string): JsonSchema {
  return record({
    success: { type: 'boolean', const: true },
    result: componentRef(result),
    request_id: REQUEST_ID,
    processing_time: PROCESSING_TIME,
  })
}

const FILE_POSITION = {
  type: 'string',
  description: 'The path of the file in a request with several, such as `params.attachment_ids.0`.',
}

/** What the `details` of several codes hold. */
const SHARED_DETAILS: Readonly<Record<'FieldDetails' | 'QuotaDetails' | 'FileDetails', JsonSchema>> = {
  FieldDetails: record(
    {
      description: {
        type: 'string',
        description:
          'The path of the field, such as `params.payment.payer`; `body` means the body as a whole.',
      },
      reason: { type: 'string', description: 'What is accepted there.' },
    },
    ['reason'],
  ),
  QuotaDetails: record(
    {
      bucket: {
        type: 'string',
        description: 'The name of a method, `webhook.resend`, `daily`, `authentication` or `concurrency`.',
      },
      limit: { type: 'integer' },
      window_seconds: { type: 'integer', description: 'Absent for `concurrency`, which has no window.' },
      retry_after_seconds: { type: 'integer', minimum: 1 },
    },
    ['window_seconds'],
  ),
  // F3
  FileDetails: record(
    {
      status: { type: 'string', enum: ATTACHMENT_STATUSES.names },
      reason: { type: 'string' },
      description: FILE_POSITION,
    },
    ['reason', 'description'],
  ),
}
const PATH_INFO = componentRef('FieldDetails')
const QUOTA_INFO = componentRef('QuotaDetails')
const FILE_INFO = componentRef('FileDetails')

const nullable = (schema: JsonSchema): JsonSchema => ({ ...schema, type: ['object', 'null'] })

/** The content of `details` for the codes that have some. */
const DETAILS: Readonly<Partial<Record<ErrorCode, JsonSchema>>> = {
  1000: QUOTA_INFO,
  1003: nullable(
    record(
      {
        description: {
          type: 'string',
          description:
            'The part of the request that is wrong: `query`, `headers`, `version`, `host`, `transfer-encoding` or ' +
            '`body`; or `no callback destination`.',
        },
        status: { type: 'string', description: 'Of a file whose upload has ended.' },
        reason: { type: 'string' },
      },
      ['description', 'status', 'reason'],
    ),
  ),
  1005: PATH_INFO,
  1010: PATH_INFO,
  3009: QUOTA_INFO,
  6001: PATH_INFO,
  6002: PATH_INFO,
  8600: PATH_INFO,
  8601: PATH_INFO,
  9000: PATH_INFO,
  10002: {
    ...record({
      identifiers: record({ c_id: { type: 'string' }, h_id: { type: 'string', format: 'uuid' } }),
      status: { type: 'string', enum: TICKET_STATUSES.names },
    }),
    description: 'The ticket that the payment has.',
  },
  11003: PATH_INFO,
  11004: record({
    remaining_amount: {
      type: 'string',
      pattern: '^[0-9]+$',
      description: 'What remains of the payment, in minor units.',
    },
  }),
  13001: nullable(record({ description: FILE_POSITION })),
  13002: FILE_INFO,
  13003: FILE_INFO,
  13004: FILE_INFO,
}

/** The content of `context` for the codes that have some. */
const CONTEXT: Readonly<Partial<Record<ErrorCode, JsonSchema>>> = {
  6009: {
    ...nullable(record({ h_id: { type: 'string' }, status: { type: 'string' } })),
    description: 'The existing payment; null when the credential may not read it.',
  },
}

const ANY_INFO = { type: ['object', 'null'] }
const COMMON_ERROR = 'CommonError'

const errorName = (code: ErrorCode): string => `Error${code}`

function errorSchema(code: ErrorCode): JsonSchema {
  return record({
    code: {
      type: 'integer',
      const: code,
      title: ERROR_TABLE[code].message,
      description: ERROR_ADVICE[code],
      'x-retry': retryWord(code),
    },
    message: { type: 'string' },
    details: DETAILS[code] ?? ANY_INFO,
    context: CONTEXT[code] ?? ANY_INFO,
  })
}

/** The envelope of a failure (E2), around one of these errors. */
function failureSchema(errors: readonly string[]): JsonSchema {
  const [first = '', ...others] = errors
  return record({
    success: { type: 'boolean', const: false },
    result: { type: 'null' },
    error: others.length === 0 ? componentRef(first) : oneOf(errors),
    request_id: REQUEST_ID,
    processing_time: PROCESSING_TIME,
  })
}

const oneOf = (names: readonly string[]): JsonSchema => ({ oneOf: names.map((name) => componentRef(name)) })

/** The components of failures: the error of each code, and the envelopes for each HTTP status of these operations. */
export function failureSchemas(
  operations: readonly FailureDescription[],
): Readonly<Record<string, JsonSchema>> {
  const codes = new Set(operations.flatMap(({ refusals }) => [...refusals.values()].flat()))
  const common = COMMON_REFUSALS.get(400) ?? []
  const errorsOf = (listed: readonly ErrorCode[]): readonly string[] => {
    const has_common = common.every((code) => listed.includes(code))
    const own = has_common ? listed.filter((code) => !common.includes(code)) : listed
    return [...(has_common ? [COMMON_ERROR] : []), ...own.map(errorName)]
  }
  return Object.fromEntries([
    ...[...codes].sort((a, b) => a - b).map((code) => [errorName(code), errorSchema(code)] as const),
    ...Object.entries(SHARED_DETAILS),
    [COMMON_ERROR, oneOf(common.map(errorName))],
    ...operations.flatMap((operation) =>
      [...operation.refusals].map(
        ([status, listed]) => [failureName(operation, status), failureSchema(errorsOf(listed))] as const,
      ),
    ),
  ])
}
