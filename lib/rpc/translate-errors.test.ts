import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, test } from '@jest/globals'
import { type ErrorDetail, ErrorDetailSchema } from '#gen/multihub/common/v1/error_pb.ts'
import { ERROR_TABLE, type ErrorCode, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { fromConnectError, toConnectError, toPublicError } from './errors.ts'

const CODES: readonly ErrorCode[] = Object.keys(ERROR_TABLE).map(Number).filter(isErrorCode)

function withDetail(detail: Partial<Omit<ErrorDetail, '$typeName' | '$unknown'>>): ConnectError {
  return new ConnectError('text of the other side', Code.Internal, undefined, [
    { desc: ErrorDetailSchema, value: detail },
  ])
}

describe('a public error sent to a caller', () => {
  test.each(CODES)('the code %i arrives with its details, context and status', (code) => {
    const raised = new PublicError(code, { details: { field: 'params.ü' }, context: { n: 1 }, http: 503 })
    const received = fromConnectError(toConnectError(raised))
    expect(received).toMatchObject({
      code,
      details: { field: 'params.ü' },
      context: { n: 1 },
      http: 503,
      message: ERROR_TABLE[code].message,
    })
  })

  test('arrives without details and context if it has none, with the status of the error table', () => {
    const received = fromConnectError(toConnectError(new PublicError(13003)))
    expect(received.details).toBeUndefined()
    expect(received.context).toBeUndefined()
    expect(received.http).toBe(409)
  })

  test('has the gRPC status and the message of the error table', () => {
    const status = toConnectError(new PublicError(6010))
    expect(status.code).toBe(Code.NotFound)
    expect(status.rawMessage).toBe('Payment does not exist')
  })

  test('does not contain its cause', () => {
    const status = toConnectError(new PublicError(2002, { cause: new Error('mongodb://user:pass@host') }))
    expect(status.cause).toBeUndefined()
  })

  test('writes bigint amounts as strings, and omits details that are too long', () => {
    const amounts = fromConnectError(toConnectError(new PublicError(6004, { details: { minor: 2n ** 62n } })))
    expect(amounts.details).toEqual({ minor: '4611686018427387904' })
    const long = fromConnectError(toConnectError(new PublicError(9000, { details: { x: 'x'.repeat(9000) } })))
    expect(long.code).toBe(9000)
    expect(long.details).toBeUndefined()
  })

  test('keeps its code when its details cannot be serialized', () => {
    const details: Record<string, unknown> = {}
    details['self'] = details
    expect(fromConnectError(toConnectError(new PublicError(6004, { details }))).code).toBe(6004)
  })
})

describe('an error that is not public', () => {
  test('becomes 2001 without any of its text', () => {
    const status = toConnectError(new TypeError('the secret is 1234'))
    expect(status.code).toBe(Code.Internal)
    expect(`${status.message} ${status.stack}`).not.toContain('1234')
    expect(status.cause).toBeUndefined()
    expect(fromConnectError(status).code).toBe(2001)
  })

  test('becomes 2002 for an unavailable dependency', () => {
    expect(fromConnectError(toConnectError(new Unavailable('no primary'))).code).toBe(2002)
    expect(toPublicError(new Unavailable('no primary')).cause).toBeInstanceOf(Unavailable)
  })

  test('becomes 2001 for the status of a nested call, whose text is not passed on', () => {
    const status = toConnectError(
      new ConnectError('inside: host 10.0.0.7', Code.NotFound, { 'x-secret': '1' }),
    )
    expect(status.code).toBe(Code.Internal)
    expect(status.message).not.toContain('10.0.0.7')
    expect([...status.metadata]).toEqual([])
    const detailed = toConnectError(withDetail({ code: 6004 }))
    expect(fromConnectError(detailed).code).toBe(2001)
  })

  test.each([undefined, null, 'text', 42, {}])('becomes 2001 for the thrown value %p', (thrown) => {
    expect(fromConnectError(toConnectError(thrown)).code).toBe(2001)
  })
})

describe('a received status', () => {
  test.each([0, -1, 99999, 1014])('with the unknown code %i becomes 2001', (code) => {
    expect(fromConnectError(withDetail({ code })).code).toBe(2001)
  })

  test.each(['{', '[]', '"text"', 'null', '1', '\u0000'])(
    'with the malformed details %p keeps its code only',
    (text) => {
      const received = fromConnectError(withDetail({ code: 6004, detailsJson: text, contextJson: text }))
      expect(received.code).toBe(6004)
      expect(received.details).toBeUndefined()
      expect(received.context).toBeUndefined()
    },
  )

  test.each([0, -1, 200, 302, 600])(
    'with the HTTP status %i gets the status of the error table',
    (httpStatus) => {
      expect(fromConnectError(withDetail({ code: 6010, httpStatus })).http).toBe(ERROR_TABLE[6010].http)
    },
  )

  test.each([Code.Unavailable, Code.DeadlineExceeded, Code.Canceled])(
    'with gRPC status %i and no details becomes 2002',
    (code) => {
      const status = new ConnectError('connect ECONNREFUSED', code)
      const received = fromConnectError(status)
      expect(received.code).toBe(2002)
      expect(received.cause).toBe(status)
    },
  )

  test.each([
    Code.Unauthenticated,
    Code.PermissionDenied,
    Code.Unimplemented,
    Code.ResourceExhausted,
    Code.Unknown,
  ])(
    'with gRPC status %i and no details becomes 2001, because our program or configuration is at fault',
    (code) => {
      expect(fromConnectError(new ConnectError('x', code)).code).toBe(2001)
    },
  )

  test('ignores details that cannot be decoded', () => {
    const status = new ConnectError('x', Code.Unavailable)
    status.details.push({ type: ErrorDetailSchema.typeName, value: new Uint8Array([0xff, 0xff, 0xff]) })
    expect(fromConnectError(status).code).toBe(2002)
  })
})
