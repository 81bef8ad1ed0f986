import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, test } from '@jest/globals'
import { type ErrorDetail, ErrorDetailSchema } from '#gen/multihub/common/v1/error_pb.ts'
import { ERROR_TABLE, type ErrorCode, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { fromConnectError, toConnectError, toPublicError } from './translate-errors.ts'

const CODES: readonly ErrorCode[] = Object.keys(ERROR_TABLE).map(Number).filter(isErrorCode)

function withDetail(detail: Partial<Omit<ErrorDetail, '$typeName' | '$unknown'>>): ConnectError {
  return new ConnectError('text of the other side', Code.Internal, undefined, [
    { desc: ErrorDetailSchema, value: detail },
  ])
}

describe('an error on its way to a caller', () => {
  test.each(CODES)('%i comes back as it was', (code) => {
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

  test('without details, context and status of its own it comes back without them', () => {
    const received = fromConnectError(toConnectError(new PublicError(13003)))
    expect(received.details).toBeUndefined()
    expect(received.context).toBeUndefined()
    expect(received.http).toBe(409)
  })

  test('has the status of the table and its message', () => {
    const status = toConnectError(new PublicError(6010))
    expect(status.code).toBe(Code.NotFound)
    expect(status.rawMessage).toBe('Payment does not exist')
  })

  test('holds no cause', () => {
    const status = toConnectError(new PublicError(2002, { cause: new Error('mongodb://user:pass@host') }))
    expect(status.cause).toBeUndefined()
  })

  test('says amounts as texts, and leaves out a description that is too long', () => {
    const amounts = fromConnectError(toConnectError(new PublicError(6004, { details: { minor: 2n ** 62n } })))
    expect(amounts.details).toEqual({ minor: '4611686018427387904' })
    const long = fromConnectError(toConnectError(new PublicError(9000, { details: { x: 'x'.repeat(9000) } })))
    expect(long.code).toBe(9000)
    expect(long.details).toBeUndefined()
  })

  test('keeps its code when its description cannot be written', () => {
    const details: Record<string, unknown> = {}
    details['self'] = details
    expect(fromConnectError(toConnectError(new PublicError(6004, { details }))).code).toBe(6004)
  })
})

describe('what is no public error', () => {
  test('a fault shows as 2001 and nothing of itself', () => {
    const status = toConnectError(new TypeError('the secret is 1234'))
    expect(status.code).toBe(Code.Internal)
    expect(`${status.message} ${status.stack}`).not.toContain('1234')
    expect(status.cause).toBeUndefined()
    expect(fromConnectError(status).code).toBe(2001)
  })

  test('a dependency that is away is 2002', () => {
    expect(fromConnectError(toConnectError(new Unavailable('no primary'))).code).toBe(2002)
    expect(toPublicError(new Unavailable('no primary')).cause).toBeInstanceOf(Unavailable)
  })

  test('a status from a call of ours is never passed on as our own', () => {
    const status = toConnectError(
      new ConnectError('inside: host 10.0.0.7', Code.NotFound, { 'x-secret': '1' }),
    )
    expect(status.code).toBe(Code.Internal)
    expect(status.message).not.toContain('10.0.0.7')
    expect([...status.metadata]).toEqual([])
    const detailed = toConnectError(withDetail({ code: 6004 }))
    expect(fromConnectError(detailed).code).toBe(2001)
  })

  test.each([undefined, null, 'text', 42, {}])('%p thrown is a fault', (thrown) => {
    expect(fromConnectError(toConnectError(thrown)).code).toBe(2001)
  })
})

describe('what comes from the other side', () => {
  test.each([0, -1, 99999, 1014])('the unknown code %i is 2001', (code) => {
    expect(fromConnectError(withDetail({ code })).code).toBe(2001)
  })

  test.each(['{', '[]', '"text"', 'null', '1', '\u0000'])(
    '%p is no description, and the code stays',
    (text) => {
      const received = fromConnectError(withDetail({ code: 6004, detailsJson: text, contextJson: text }))
      expect(received.code).toBe(6004)
      expect(received.details).toBeUndefined()
      expect(received.context).toBeUndefined()
    },
  )

  test.each([0, -1, 200, 302, 600])('%i is no status of an error', (httpStatus) => {
    expect(fromConnectError(withDetail({ code: 6010, httpStatus })).http).toBe(ERROR_TABLE[6010].http)
  })

  test.each([Code.Unavailable, Code.DeadlineExceeded, Code.Canceled])('status %i alone is 2002', (code) => {
    const status = new ConnectError('connect ECONNREFUSED', code)
    const received = fromConnectError(status)
    expect(received.code).toBe(2002)
    expect(received.cause).toBe(status)
  })

  test.each([
    Code.Unauthenticated,
    Code.PermissionDenied,
    Code.Unimplemented,
    Code.ResourceExhausted,
    Code.Unknown,
  ])('status %i alone is 2001: our own configuration or program is at fault, not the merchant', (code) => {
    expect(fromConnectError(new ConnectError('x', code)).code).toBe(2001)
  })

  test('bytes that are no detail leave the plain status', () => {
    const status = new ConnectError('x', Code.Unavailable)
    status.details.push({ type: ErrorDetailSchema.typeName, value: new Uint8Array([0xff, 0xff, 0xff]) })
    expect(fromConnectError(status).code).toBe(2002)
  })
})
