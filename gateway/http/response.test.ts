import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { RESEND_METHOD } from '#lib/contract/methods.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { createTestGateway } from '../gateway.fixture.ts'
import { beginExchange } from './exchange.ts'
import { createExchangeLog } from './exchange-log.ts'
import { createLimitRefusal, DAILY_BUCKET, FLOOD_BUCKET, retryHeaders } from './limit-refusal.ts'
import { createResponder } from './response.ts'
import { PING, type RequestHead, requestText, sendBytes } from './socket.fixture.ts'

/** Sends requests to a new gateway; returns its responses and its log lines. */
async function exchange(heads: readonly RequestHead[], failures_per_minute = 1_000) {
  const lines: Record<string, unknown>[] = []
  const log = createLog('gateway', {
    level: 'info',
    writer: { write: (line) => lines.push(JSON.parse(line)) },
  })
  const app = await createTestGateway({ log, failures_per_minute })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const text = heads.map((head) => requestText(PING, head)).join('')
  const { responses } = await sendBytes(app, text, heads.length)
  await app.close()
  return { responses, lines }
}

test.each<[string, string[], string | undefined]>([
  ['one character', ['x-request-id: a'], 'a'],
  ['128 of them', [`X-Request-ID: ${'~'.repeat(128)}`], '~'.repeat(128)],
  ['what would end a JSON text', ['x-request-id: a"\\b'], 'a"\\b'],
  ['none', ['x-request-id: '], undefined],
  ['129', [`x-request-id: ${'a'.repeat(129)}`], undefined],
  ['a blank', ['x-request-id: a b'], undefined],
  ['a tab', ['x-request-id: a\tb'], undefined],
  ['a letter beyond ASCII', ['x-request-id: \xe9'], undefined],
  ['two headers', ['x-request-id: a', 'x-request-id: b'], undefined],
])('logs the request id of the caller only if it is well-formed: %s', async (_what, lines, logged) => {
  const { responses, lines: written } = await exchange([{ header_lines: lines }])
  const [line, ...more] = written
  expect(more).toEqual([])
  expect(line?.['client_request_id']).toBe(logged)
  expect(responses[0]?.headers.get('x-request-id')).toBe(line?.['request_id'])
  expect(JSON.parse(responses[0]?.body ?? '').request_id).toBe(line?.['request_id'])
  expect(line?.['request_id']).not.toBe(logged)
})

test('gives each request on a connection its own id', async () => {
  const { responses } = await exchange([{}, {}, {}])
  expect(new Set(responses.map(({ headers }) => headers.get('x-request-id'))).size).toBe(3)
})

test('sends Retry-After with a 429', async () => {
  const refused = { header_lines: [`x-data-hash: ${'a'.repeat(128)}`] }
  const [first, second] = (await exchange([refused, refused], 1)).responses
  expect([first?.http_status, first?.headers.has('retry-after')]).toEqual([400, false])
  expect(second?.http_status).toBe(429)
  const { retry_after_seconds } = JSON.parse(second?.body ?? '').error.details
  expect(second?.headers.get('retry-after')).toBe(String(retry_after_seconds))
})

test.each([
  [
    'with its cause',
    new Error('connection refused'),
    ['request failed because a dependency is unavailable', 'request answered'],
  ],
  ['in one line if it has no cause', undefined, ['request answered']],
])('logs an unavailable dependency %s', (_what, cause, messages) => {
  const lines: Record<string, unknown>[] = []
  const log = createLog('gateway', {
    level: 'info',
    writer: { write: (line) => lines.push(JSON.parse(line)) },
  })
  const request = new IncomingMessage(new Socket())
  createResponder(createExchangeLog(log, undefined)).sendFailure(
    beginExchange(request, new ServerResponse(request)),
    new PublicError(2002, { cause }),
  )
  expect(lines.map(({ message }) => message)).toEqual(messages)
  expect(lines.at(-1)).toMatchObject({ code: 2002, http_status: 400 })
})

const WRONG_HASH = { header_lines: [`x-data-hash: ${'a'.repeat(128)}`] }
const idsOf = (items: readonly { readonly body: string }[]) =>
  items.map(({ body }) => JSON.parse(body).request_id)

test.each<[string, RequestHead]>([
  ['a request with a wrong signature', WRONG_HASH],
  ['a request for an unknown path', { target: '/x' }],
  ['an invalid request', { header_lines: ['x-a : b'] }],
  ['a tunnel', { verb: 'CONNECT', target: 'a:80' }],
])('logs the request id that %s was given, and the address of its caller', async (_what, head) => {
  const { responses, lines } = await exchange([head])
  expect(lines.map(({ request_id }) => request_id)).toEqual(idsOf(responses))
  expect(lines[0]).toMatchObject({
    client_address: '127.0.0.1',
    code: JSON.parse(responses[0]?.body ?? '').error.code,
  })
})

test('logs too many failed authentications with their ids too', async () => {
  const { responses, lines } = await exchange([WRONG_HASH, WRONG_HASH], 1)
  expect(responses.map(({ http_status }) => http_status)).toEqual([400, 429])
  expect(lines.map(({ request_id }) => request_id)).toEqual(idsOf(responses))
})

test('samples the lines about callers that are not authenticated, and no others', async () => {
  const refused = await exchange(Array.from({ length: 30 }, () => WRONG_HASH))
  expect([refused.responses.length, refused.lines.length]).toEqual([30, 20])
  const authenticated = await exchange(Array.from({ length: 30 }, () => ({})))
  expect([authenticated.responses.length, authenticated.lines.length]).toEqual([30, 30])
  expect(authenticated.lines[0]?.['client_address']).toBeUndefined()
  // Half a replay pair is refused after the signature was verified.
  const signed = await exchange(Array.from({ length: 30 }, () => ({ header_lines: ['x-data-timestamp: 1'] })))
  expect([signed.responses.at(-1)?.http_status, signed.lines.length]).toEqual([400, 30])
})

const refusal = (bucket: string, retry_after_ms = 12_345): PublicError =>
  createLimitRefusal({ bucket, limit: 10, window_ms: 60_000, retry_after_ms })

describe('the refusal of an exhausted quota', () => {
  test('is 429 and 1000 with the time to wait', () => {
    expect(refusal('payment.notification')).toMatchObject({
      http: 429,
      code: 1000,
      details: { bucket: 'payment.notification', limit: 10, window_seconds: 60, retry_after_seconds: 13 },
    })
  })

  test('is 3009 for the daily limit', () => {
    expect(
      createLimitRefusal({ bucket: DAILY_BUCKET, limit: 9, window_ms: 86_400_000, retry_after_ms: 1 }),
    ).toMatchObject({
      http: 429,
      code: 3009,
      details: { bucket: 'daily', limit: 9, window_seconds: 86_400, retry_after_seconds: 1 },
    })
  })

  test.each([
    [60_000, 60],
    [59_001, 60],
    [1_001, 2],
    [1_000, 1],
    [1, 1],
    [0, 1],
    [-5_000, 1],
  ])('reports %i ms as %i whole seconds', (retry_after_ms, seconds) => {
    expect(refusal('payment.in', retry_after_ms).details?.['retry_after_seconds']).toBe(seconds)
  })

  test('is counted by its bucket', async () => {
    refusal('ticket.reopen')
    expect(await metricsText()).toMatch(/multihub_limit_refusals_total\{bucket="ticket.reopen"\} 1/)
  })
})

describe('the headers of a refusal', () => {
  test.each([
    ['payment.notification', 'Retry-After-Payment-Notification'],
    ['ticket.description.update', 'Retry-After-Ticket-Description-Update'],
    [RESEND_METHOD, 'Retry-After-Webhook-Resend'],
  ])('of %s are Retry-After and %s', (bucket, name) => {
    expect(retryHeaders(refusal(bucket))).toEqual(['Retry-After', '13', name, '13'])
  })

  test.each([DAILY_BUCKET, FLOOD_BUCKET])('of %s, which is not a method, are Retry-After only', (bucket) => {
    expect(retryHeaders(refusal(bucket))).toEqual(['Retry-After', '13'])
  })

  test.each([new PublicError(1000), new PublicError(6010), new PublicError(1000, { http: 429 })])(
    'are none for another error',
    (error) => {
      expect(retryHeaders(error)).toEqual([])
    },
  )
})
