import { ERROR_TABLE, type ErrorCode, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { ADVICE } from './advice.ts'
import { type JsonSchema, record } from './json-schema.ts'
import { reference } from './names.ts'

/** The second HTTP status that a code can have, beside the one of the table (E10, E13). */
const SECOND_STATUS: readonly (readonly [ErrorCode, number])[] = [
  [1000, 429],
  [2002, 503],
]

/** Every code with every HTTP status that it can come with, in the order of the table. */
export function codesByStatus(): ReadonlyMap<number, readonly ErrorCode[]> {
  const codes = Object.keys(ERROR_TABLE).map(Number).filter(isErrorCode)
  const pairs = [...codes.map((code) => [code, ERROR_TABLE[code].http] as const), ...SECOND_STATUS]
  const statuses = [...new Set(pairs.map(([, http]) => http))].sort()
  return new Map(
    statuses.map((status) => [status, pairs.filter(([, http]) => http === status).map(([code]) => code)]),
  )
}

const REQUEST_ID = { type: 'string', format: 'uuid', description: 'Equals the header X-Request-ID.' }
const PROCESSING_TIME = { type: 'number', minimum: 0, description: 'Milliseconds.' }

/** The envelope around a result (E2). */
export function successSchema(result: string): JsonSchema {
  return record({
    success: { const: true },
    result: reference(result),
    request_id: REQUEST_ID,
    processing_time: PROCESSING_TIME,
  })
}

/** What `details` or `context` hold for certain codes. */
const KNOWN_INFO: readonly {
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
        description: 'The field’s path, such as `params.payment.payer`; `body` is the body as a whole.',
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
            'What was misused: `query`, `headers`, `version`, `host`, `transfer-encoding` or `body`; ' +
            'or `no callback destination`.',
        },
      }),
      type: ['object', 'null'],
    },
  },
  {
    codes: [6009],
    status: 400,
    member: 'context',
    schema: record({ h_id: { type: 'string' }, status: { type: 'string' } }),
  },
  {
    codes: [1000, 3009],
    status: 429,
    member: 'details',
    schema: record({
      bucket: {
        type: 'string',
        description: 'A method’s name, `webhook.resend`, `daily` or `authentication`.',
      },
      limit: { type: 'integer' },
      window_seconds: { type: 'integer' },
      retry_after_seconds: { type: 'integer', minimum: 1 },
    }),
  },
]

/** The envelope of the failures that come with an HTTP status (E2). */
export function failureSchema(status: number, codes: readonly ErrorCode[]): JsonSchema {
  const info = { type: ['object', 'null'] }
  const known = KNOWN_INFO.filter((one) => one.status === status).map(({ codes, member, schema }) => ({
    if: { properties: { code: { enum: codes } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { [member]: schema } },
  }))
  const error = record({
    code: { type: 'integer', oneOf: codes.map(codeSchema) },
    message: { type: 'string' },
    details: info,
    context: info,
  })
  return record({
    success: { const: false },
    result: { type: 'null' },
    error: known.length === 0 ? error : { ...error, allOf: known },
    request_id: REQUEST_ID,
    processing_time: PROCESSING_TIME,
  })
}

function codeSchema(code: ErrorCode): JsonSchema {
  return { const: code, title: ERROR_TABLE[code].message, description: ADVICE[code] }
}
