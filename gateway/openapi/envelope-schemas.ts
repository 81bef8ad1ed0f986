import { ERROR_ADVICE } from '#lib/contract/errors/error-advice.ts'
import { retryWord } from '#lib/contract/errors/error-retry.ts'
import { ERROR_TABLE, type ErrorCode, type ErrorRow, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { methodTitle } from '#lib/contract/methods.ts'
import { componentRef, type JsonSchema, record } from '#lib/contract/view.ts'

/** The component for a part of the calls of a method: `PaymentInRequest` for `payment.in`. A response has the envelope. */
export function componentName(method: string, part: 'Request' | 'Response' | 'Result'): string {
  return methodTitle(method, '') + part
}

/** The component for the failures with an HTTP status. */
export function failureName(status: number): string {
  return `Failure${status}`
}

/** The codes of each HTTP status, in the order of the error table. A code can have two statuses. */
export function codesByStatus(): ReadonlyMap<number, readonly ErrorCode[]> {
  const codes = Object.keys(ERROR_TABLE).map(Number).filter(isErrorCode)
  const statusesOf = (code: ErrorCode): readonly number[] => {
    const { http, second_http = http }: ErrorRow = ERROR_TABLE[code]
    return [http, second_http]
  }
  const statuses = [...new Set(codes.flatMap(statusesOf))].sort()
  return new Map(
    statuses.map((status) => [status, codes.filter((code) => statusesOf(code).includes(status))]),
  )
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

/** The content of `details` or `context` for the codes that have some. */
const ERROR_INFO: readonly {
  readonly codes: readonly ErrorCode[]
  readonly status: number
  readonly member: 'details' | 'context'
  readonly schema: JsonSchema
}[] = [
  {
    codes: [1005, 1010, 6001, 9000],
    status: 400,
    member: 'details',
    schema: record({
      description: {
        type: 'string',
        description:
          'The path of the field, such as `params.payment.payer`; `body` means the body as a whole.',
      },
    }),
  },
  {
    codes: [1003],
    status: 400,
    member: 'details',
    schema: {
      ...record({
        description: {
          type: 'string',
          description:
            'The part of the request that is wrong: `query`, `headers`, `version`, `host`, `transfer-encoding` or ' +
            '`body`; or `no callback destination`.',
        },
      }),
      type: ['object', 'null'],
    },
  },
  {
    codes: [6009],
    status: 400,
    member: 'context',
    schema: {
      ...record({ h_id: { type: 'string' }, status: { type: 'string' } }),
      type: ['object', 'null'],
      description: 'The existing payment; null when the credential may not read it.',
    },
  },
  {
    codes: [11004],
    status: 409,
    member: 'details',
    schema: record({
      remaining_amount: {
        type: 'string',
        pattern: '^[0-9]+$',
        description: 'What remains of the payment, in minor units.',
      },
    }),
  },
  {
    codes: [1000, 3009],
    status: 429,
    member: 'details',
    schema: record(
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
  },
]

/** The envelope of the failures with an HTTP status (E2). */
export function failureSchema(status: number, codes: readonly ErrorCode[]): JsonSchema {
  const info = { type: ['object', 'null'] }
  const conditions = ERROR_INFO.filter((entry) => entry.status === status).map(
    ({ codes, member, schema }) => ({
      if: { properties: { code: { enum: codes } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { [member]: schema } },
    }),
  )
  const error = record({
    code: {
      type: 'integer',
      oneOf: codes.map((code) => ({
        const: code,
        title: ERROR_TABLE[code].message,
        description: ERROR_ADVICE[code],
        'x-retry': retryWord(code),
      })),
    },
    message: { type: 'string' },
    details: info,
    context: info,
  })
  return record({
    success: { type: 'boolean', const: false },
    result: { type: 'null' },
    error: conditions.length === 0 ? error : { ...error, allOf: conditions },
    request_id: REQUEST_ID,
    processing_time: PROCESSING_TIME,
  })
}
