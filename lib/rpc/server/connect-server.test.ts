import { once } from 'node:events'
import { connect } from 'node:net'
import { Code } from '@connectrpc/connect'
import { afterEach, describe, expect, test } from '@jest/globals'
import { isUuid } from '#lib/base/ids.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { eventually } from '../../../test/support/eventually.ts'
import {
  clientBy,
  merchantService,
  recordingLog,
  serveProcess,
  type TestProcess,
  tokenOf,
} from '../../../test/support/rpc.ts'

const ending: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (let end = ending.pop(); end !== undefined; end = ending.pop()) await end()
})

async function serve(
  methods: Parameters<typeof merchantService>[0] = {},
  draining?: AbortSignal,
): Promise<TestProcess> {
  const served = await serveProcess([merchantService(methods)], {
    log: recordingLog().log,
    ...(draining && { draining }),
  })
  ending.push(() => served.close())
  return served
}

/** Sends the same request as `curl -H 'Authorization: Bearer ...' -d '{...}'`. */
function post({ serving }: TestProcess, method: string, body: string, headers = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${serving.connect_port}/multihub.merchants.v1.MerchantService/${method}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${tokenOf('gateway')}`,
      ...headers,
    },
    body,
  })
}

describe('a call with curl', () => {
  test('sends JSON and gets JSON', async () => {
    const response = await post(
      await serve(),
      'CreateMerchant',
      '{"name":"Zoë","environments":["ENVIRONMENT_TEST"]}',
    )
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      merchant: {
        merchantId: '1',
        name: 'Zoë',
        timezone: '',
        environments: [],
        status: 'MERCHANT_STATUS_UNSPECIFIED',
      },
    })
  })

  test('gets the code and the message of an error, and the request id', async () => {
    const served = await serve({
      async getMerchant() {
        throw new PublicError(6004, { details: { currency: 'INR' } })
      },
    })
    const response = await post(served, 'GetMerchant', '{}')
    expect(response.status).toBe(400)
    expect(isUuid(response.headers.get('x-request-id') ?? '')).toBe(true)
    expect(await response.json()).toMatchObject({
      code: 'failed_precondition',
      message: 'Insufficient funds',
      details: [{ debug: { code: 6004, detailsJson: '{"currency":"INR"}', httpStatus: 400 } }],
    })
  })

  test('is refused with a misspelt field, malformed JSON or an unknown method', async () => {
    const served = await serve()
    expect((await post(served, 'CreateMerchant', '{"nmae":"x"}')).status).toBe(400)
    expect((await post(served, 'CreateMerchant', '{')).status).toBe(400)
    expect((await post(served, 'CreateMerchants', '{}')).status).toBe(404)
    expect((await post(served, 'CreateMerchant', '{}', { 'content-type': 'text/plain' })).status).toBe(415)
  })

  test('is refused without a token, and with the token of a caller that is not permitted', async () => {
    const served = await serve()
    expect((await post(served, 'GetMerchant', '{}', { authorization: '' })).status).toBe(401)
    const operator = { authorization: `Bearer ${tokenOf('backoffice')}` }
    expect((await post(served, 'GetMerchant', '{}', operator)).status).toBe(403)
  })

  test('is refused with a body above 4 MiB or a compressed body', async () => {
    const served = await serve()
    expect((await post(served, 'CreateMerchant', `{"name":"${'x'.repeat(4_200_000)}"}`)).status).toBe(429)
    expect((await post(served, 'CreateMerchant', '{}', { 'content-encoding': 'gzip' })).status).toBe(501)
  })
})

describe('an unknown RPC', () => {
  const there = '/multihub.merchants.v1.MerchantService'

  test.each([`${there}/CreateMerchants`, '/multihub.merchants.v1.NoService/GetMerchant', '/a.B/C'])(
    'is unimplemented at %s, for every caller',
    async (path) => {
      const { serving } = await serve()
      const responses: unknown[] = []
      for (const authorization of ['', 'Bearer wrong', `Bearer ${tokenOf('gateway')}`]) {
        const headers = { 'content-type': 'application/json', authorization }
        const url = `http://127.0.0.1:${serving.connect_port}${path}`
        const response = await fetch(url, { method: 'POST', headers, body: '{' })
        responses.push([response.status, response.headers.get('content-type'), await response.json()])
      }
      const expected = [404, 'application/json', { code: 'unimplemented', message: 'unknown RPC' }]
      expect(responses).toEqual([expected, expected, expected])
    },
  )

  test.each(['connect', 'grpc-web'] as const)('is unimplemented for a client over %s', async (way) => {
    const served = await serveProcess([], { log: recordingLog().log })
    ending.push(() => served.close())
    const { merchants } = await clientBy(way, served, 'gateway')
    await expect(merchants.getMerchant({})).rejects.toMatchObject({ cause: { code: Code.Unimplemented } })
  })

  test.each([
    ['GET', `${there}/CreateMerchants`],
    ['POST', '/'],
    ['POST', '/x'],
    ['POST', '/x/y'],
    ['POST', '/a.B/C/'],
    ['POST', '/a.B/C/D'],
    ['POST', '//a.B/C'],
    ['POST', '/a..B/C'],
    ['POST', '/a.B/%43'],
  ])('does not match %s %s', async (method, path) => {
    const { serving } = await serve()
    const response = await fetch(`http://127.0.0.1:${serving.connect_port}${path}`, { method })
    expect([response.status, await response.text()]).toEqual([404, 'Not Found\n'])
  })
})

describe('the port of the RPCs', () => {
  // R2
  test.each(['/healthz', '/readyz', '/metrics', '/', '/__proto__'])('does not serve %s', async (path) => {
    const { serving } = await serve()
    expect((await fetch(`http://127.0.0.1:${serving.connect_port}${path}`)).status).toBe(404)
  })

  // R5
  test('takes calls while the process drains, and ends each connection with its response', async () => {
    const draining = new AbortController()
    const served = await serve({}, draining.signal)
    expect((await post(served, 'GetMerchant', '{}')).headers.get('connection')).toBe('keep-alive')
    draining.abort()
    const response = await post(served, 'GetMerchant', '{}')
    expect([response.status, response.headers.get('connection')]).toEqual([200, 'close'])
  })
})

/** The status line of the response to raw bytes; empty if the connection was closed without a response. */
async function answerTo({ serving }: TestProcess, bytes: string): Promise<string> {
  const socket = connect(serving.connect_port, '127.0.0.1')
  let received = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
  })
  socket.on('error', () => {})
  socket.end(bytes)
  await once(socket, 'close')
  return received.split('\r\n', 1)[0] ?? ''
}

describe('hostile requests', () => {
  const rpc = '/multihub.merchants.v1.MerchantService/GetMerchant'

  test.each([
    `POST ${rpc} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
    `POST ${rpc} HTTP/1.1\r\nhost: [\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
    `POST ${rpc} HTTP/1.1\r\nhost: a b\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
    'GET //[ HTTP/1.1\r\nhost: x\r\n\r\n',
    `POST ${rpc} HTTP/1.1\r\nhost: x\r\nconnect-timeout-ms: x\r\ncontent-length: 0\r\n\r\n`,
    'nonsense\r\n\r\n',
    `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
  ])('%# are refused, and the server continues to serve', async (bytes) => {
    const served = await serve()
    expect(await answerTo(served, bytes)).toMatch(/^(HTTP\/1.1 4\d\d .*|)$/)
    expect((await post(served, 'GetMerchant', '{}')).status).toBe(200)
  })
})

describe('several headers of one name', () => {
  const rpc = '/multihub.merchants.v1.MerchantService/GetMerchant'
  const head = `POST ${rpc} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n`
  const ours = `Authorization: Bearer ${tokenOf('gateway')}\r\n`

  test.each([
    [200, ours],
    [401, `${ours}${ours}`],
    [401, `${ours}authorization: Bearer wrong\r\n`],
    [401, `authorization: Bearer wrong\r\n${ours}`],
    [401, `authorization:\r\n${ours}`],
    [401, `${ours}AUTHORIZATION:\r\n`],
  ])('for authentication give %i (%#)', async (status, headers) => {
    const response = await answerTo(await serve(), `${head}${headers}connection: close\r\n\r\n{}`)
    expect(response).toContain(` ${status} `)
  })
})

describe('a call whose body has not arrived', () => {
  const rpc = '/multihub.merchants.v1.MerchantService/GetMerchant'

  /** The response, as far as `expected`, to a call that announces 4 MB and sends none of them. */
  async function answerToHead(
    { serving }: TestProcess,
    headers: readonly string[],
    expected: RegExp,
  ): Promise<string> {
    const socket = connect(serving.connect_port, '127.0.0.1')
    const head = [`POST ${rpc} HTTP/1.1`, 'host: x', 'content-length: 4000000', ...headers]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    let received = ''
    for await (const bytes of socket) {
      received += bytes
      if (expected.test(received)) break
    }
    return received
  }

  test.each([
    ['application/json', 'wrong', /^HTTP\/1.1 401 /],
    ['application/json', tokenOf('backoffice'), /^HTTP\/1.1 403 /],
    ['application/grpc-web+proto', 'wrong', /grpc-status: ?16/i],
    ['application/grpc-web+proto', tokenOf('backoffice'), /grpc-status: ?7/i],
  ])('is refused at once by %s with the token %s', async (content_type, token, expected) => {
    const recording = recordingLog()
    const served = await serveProcess([merchantService()], { log: recording.log })
    ending.push(() => served.close())
    const headers = [`content-type: ${content_type}`, `authorization: Bearer ${token}`]
    expect(await answerToHead(served, headers, expected)).toMatch(expected)
    expect(recording.lines.filter(({ message }) => message === 'RPC failed')).toHaveLength(1)
  })
})

describe('closing', () => {
  test('finishes calls in progress, and closes idle connections', async () => {
    let finish: (() => void) | undefined
    const served = await serve({
      getMerchant: () =>
        new Promise((resolve) => (finish = () => resolve({ merchant: { merchantId: '9' } }))),
    })
    await post(served, 'ListMerchants', '{}')
    const in_progress = post(served, 'GetMerchant', '{}')
    await eventually(
      async () => finish,
      (seen) => seen !== undefined,
    )
    const closed = served.close(600_000)
    finish?.()
    expect(await (await in_progress).json()).toMatchObject({ merchant: { merchantId: '9' } })
    await closed
    await expect(post(served, 'ListMerchants', '{}')).rejects.toThrow()
  })
})
