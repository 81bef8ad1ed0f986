import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { create, toBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import {
  ExchangeService,
  WatchExchangesResponseSchema,
} from '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
import {
  ListMerchantsRequestSchema,
  MerchantService,
} from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { RpcError } from './connect-protocol.ts'
import { connect } from './connection.ts'

let serve: RequestListener
let requests: { readonly path: string; readonly token: string }[]
let call_count = 0
const server = createServer((request, response) => {
  const { url = '', headers } = request
  // The request of a call that ended can arrive after the next call has begun.
  const { authorization: token = '' } = headers
  if (token === '' || token === `Bearer mhp_${call_count}`) requests.push({ path: url, token })
  request.resume()
  serve(request, response)
})
let url: string
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
})

const { listMerchants } = MerchantService.method
const { watchExchanges } = ExchangeService.method

/** Connects for one call, whose requests are kept. */
function connectFor(answer: RequestListener, options = {}) {
  ;[serve, requests] = [answer, []]
  call_count += 1
  return connect({ url, token: `mhp_${call_count}` }, options)
}

/** What a call comes to: its answer, or its code and what people read. */
async function list(answer: RequestListener, timeout_ms = 60_000) {
  const call = connectFor(answer, { timeout_ms }).call(listMerchants, create(ListMerchantsRequestSchema))
  return call.catch(outcomeOf)
}

/** The cursors of a stream, and then what ended it. */
async function watch(answer: RequestListener) {
  const connection = connectFor(answer)
  const got: unknown[] = []
  try {
    const stream = connection.stream(watchExchanges, create(watchExchanges.input))
    for await (const { cursor } of stream) got.push(cursor)
  } catch (error) {
    got.push(outcomeOf(error as Error))
  }
  return got
}

const outcomeOf = ({ cause, message }: Error) => [cause instanceof RpcError ? cause.code : cause, message]
const fails = (code: string, message: string) => [code, expect.stringContaining(message)]

/** Sends bytes until nobody reads them. */
function endless(kind: string, part: Uint8Array): RequestListener {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': kind })
    const send = (): void => {
      while (!response.destroyed && response.write(part)) {}
    }
    response.on('drain', send)
    send()
  }
}

const UNARY = 'application/proto'
const STREAM = 'application/connect+proto'

test('no answer can fill the memory', async () => {
  const longer = fails('internal', 'longer than 16777216 bytes')
  const part = new Uint8Array(65_536)
  expect(await list(endless(UNARY, part))).toEqual(longer)
  expect(await list(endless('text/html', part))).toEqual(longer)
  // The first message says that it has 2 GiB.
  expect(await watch(endless(STREAM, Uint8Array.from([0, 0x80, 0, 0, 0, ...part])))).toEqual([longer])
  expect(await watch(endless('text/html', part))).toEqual([longer])
})

test('an answer that goes on too slowly ends with the time of the call', async () => {
  using clock = installManualClock()
  for (const begin of [
    (response: ServerResponse) => response.writeHead(200, { 'content-type': UNARY }).flushHeaders(),
    () => undefined,
  ]) {
    const arrived = Promise.withResolvers<ServerResponse>()
    const outcome = list((_request, response) => {
      begin(response)
      arrived.resolve(response)
    }, 50)
    const response = await arrived.promise
    await clock.advance(50)
    // A call that has not ended by then breaks off, so that the test ends.
    response.destroy()
    expect(await outcome).toEqual(fails('deadline_exceeded', 'no answer within 0.05 s'))
  }
})

test('the token goes to no other address', async () => {
  for (const status of [301, 302, 307, 308]) {
    const redirect: RequestListener = (_request, response) =>
      response.writeHead(status, { location: `${url}/elsewhere` }).end()
    expect(await list(redirect)).toEqual(fails('unknown', `it sends to ${url}/elsewhere`))
    expect(requests).toEqual([expect.objectContaining({ token: `Bearer mhp_${call_count}` })])
    expect(await watch(redirect)).toEqual([fails('unknown', `it sends to ${url}/elsewhere`)])
    expect(requests).toHaveLength(1)
  }
})

const answerWith =
  (status: number, kind: string, body: string | Uint8Array): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': kind }).end(body)

test.each([
  ['what is no message', 200, UNARY, 'abc', 'internal', 'the answer cannot be read'],
  ['a page', 200, 'text/html', '<p>', 'unknown', 'what answers is not a back office'],
  ['a page of a proxy', 502, 'text/html', '<p>', 'unavailable', 'HTTP 502'],
  ['a refusal without a form', 403, 'application/json', '[', 'permission_denied', 'HTTP 403'],
  ['a code that does not exist', 500, 'application/json', '{"code":"\\u001b[2J"}', 'unknown', 'HTTP 500'],
  [
    'details that cannot be read',
    400,
    'application/json',
    '{"code":"not_found","message":"no","details":[null,7,{"type":"multihub.common.v1.ErrorDetail","value":"//"}]}',
    'not_found',
    'refused not found: no',
  ],
])('%s', async (_name, status, kind, body, code, message) => {
  expect(await list(answerWith(status, kind, body))).toEqual(fails(code, message))
})

const envelope = (flags: number, body: Uint8Array): Uint8Array =>
  Uint8Array.from([flags, 0, 0, body.length >> 8, body.length & 255, ...body])
const message = (cursor: string) =>
  envelope(0, toBinary(WatchExchangesResponseSchema, create(WatchExchangesResponseSchema, { cursor })))
const end = (json: string) => envelope(2, Buffer.from(json))

test('messages of a stream arrive whole, however their bytes are cut', async () => {
  const long = 'c'.repeat(1_000)
  const bytes = Buffer.concat([message('a'), message('b'), message(long), end('{}')])
  for (const size of [1, 4, 5, 6, 999, bytes.length]) {
    const cut: RequestListener = async (_request, response) => {
      response.writeHead(200, { 'content-type': STREAM })
      for (let at = 0; at < bytes.length; at += size)
        await new Promise<void>((sent) => response.write(bytes.subarray(at, at + size), () => sent()))
      response.end()
    }
    expect([size, await watch(cut)]).toEqual([size, ['a', 'b', long]])
  }
})

test.each([
  ['that is cut off', Buffer.from([]), fails('unavailable', 'the stream broke off')],
  ['that is cut off in a message', message('b').subarray(0, 6), fails('unavailable', 'the stream broke off')],
  [
    'that ends with a refusal',
    end('{"error":{"code":"unauthenticated","message":"revoked"}}'),
    fails('unauthenticated', 'refused unauthenticated: revoked'),
  ],
  ['with an unreadable message', envelope(0, Buffer.from('abc')), fails('internal', 'cannot be read')],
])('a stream %s', async (_name, rest, ended) => {
  expect(await watch(answerWith(200, STREAM, Buffer.concat([message('a'), rest])))).toEqual(['a', ended])
})

test('a stream that is refused at once', async () => {
  const refusal = '{"code":"invalid_argument","message":"since_cursor"}'
  expect(await watch(answerWith(400, 'application/json', refusal))).toEqual([
    fails('invalid_argument', 'since_cursor'),
  ])
})

/** Whether a call says that it was not sent. */
async function isUnsent(target: string): Promise<unknown> {
  const call = connect({ url: target, token: 'mhp_a' }).call(
    listMerchants,
    create(ListMerchantsRequestSchema),
  )
  return call.then(
    () => 'answered',
    ({ cause }: Error) => cause instanceof RpcError && cause.is_unsent,
  )
}

test('a call without a connection was not sent', async () => {
  const port = await freePort()
  for (const host of ['127.0.0.1', 'localhost'])
    expect([host, await isUnsent(`http://${host}:${port}`)]).toEqual([host, true])
})

// No test can take away the route to a host, so the error is made as the system makes it.
test.each([
  ['connect', true],
  ['read', false],
  ['write', false],
])('a host that is unreachable in %s', async (syscall, is_unsent) => {
  const cause = Object.assign(new Error(`${syscall} EHOSTUNREACH`), { code: 'EHOSTUNREACH', syscall })
  const fetch = jest.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('fetch failed', { cause }))
  try {
    expect(await isUnsent(url)).toBe(is_unsent)
  } finally {
    fetch.mockRestore()
  }
})

test('a connection that breaks after the request may have sent it', async () => {
  serve = (request) => void request.on('end', () => request.socket.resetAndDestroy())
  expect(await isUnsent(url)).toBe(false)
})

test('a stream that says nothing for 45 s ends, however long its reader takes for a message', async () => {
  using clock = installManualClock()
  requests = []
  const responses: ServerResponse[] = []
  serve = (_request, response) => {
    responses.push(response)
    response.writeHead(200, { 'content-type': STREAM }).write(message('a'))
  }
  const stream = connect({ url, token: 'mhp_a' }).stream(watchExchanges, create(watchExchanges.input))
  const messages = stream[Symbol.asyncIterator]()
  expect(await messages.next()).toMatchObject({ value: { cursor: 'a' } })
  await clock.advance(60_000)
  const next = messages.next().catch(({ exit_code, message }) => [exit_code, message])
  await clock.advance(45_000)
  // A stream that has not ended by then breaks off, so that the test ends.
  for (const response of responses) response.destroy()
  expect(await next).toEqual([3, `nothing comes from ${url} any more`])
})
