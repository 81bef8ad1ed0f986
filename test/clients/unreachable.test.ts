import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { describeLanguage, LANGUAGES } from './languages.ts'
import type { Runner, RunnerError } from './runner.ts'

const NOT_SENT = { kind: 'transport', reason: 'not_sent' }
const UNKNOWN = { kind: 'unknown' }

/** A client that waits for ever never reports: then the test ends at the time limit of its runner. */
const LIMITS = { timeout_ms: 500, tries_max: 2, wait_ms: 10, wait_max_ms: 2_000, deadline_ms: 60_000 }

const SECRET = '1'.repeat(64)

/** A server without a protocol, at a port that stays free for this test when the server is gone. */
async function listen(accept: (socket: Socket, server: Server) => void): Promise<[Server, string]> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    accept(socket, server)
  })
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return [server, `127.0.0.1:${port}`]
}

/** The address of a server that takes one connection, is gone from then on, and gives the first request this answer or none. */
async function answerOnce(answer?: string): Promise<string> {
  const [, address] = await listen((socket, server) => {
    server.close()
    if (answer !== undefined) socket.once('data', () => socket.end(answer))
  })
  return `http://${address}`
}

/** An answer with the signature of v1, which does not say to which request it belongs. */
function signed(fields: object): string {
  const body = JSON.stringify({ success: true, result: null, error: null, ...fields, request_id: 'a' })
  const hash = createHash('sha512').update(body).update(SECRET).digest('hex')
  return `HTTP/1.1 200 OK\r\nX-Data-Hash: ${hash}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
}

function signedRefusal(code: number): string {
  return signed({ success: false, error: { code, message: 'busy', details: null, context: null } })
}

/** Whether no server takes a connection to an address. */
function isRefused(address: string): Promise<boolean> {
  const [host, port] = address.split(':')
  return new Promise((resolve) => {
    const socket = connect(Number(port), host)
    socket.once('error', () => resolve(true))
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
  })
}

/** Answers the one request of a connection when all of its body has arrived. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads any part of a request
function readRequest(socket: Socket, answer: (request: any) => string): void {
  let text = ''
  socket.on('data', (chunk) => {
    text += String(chunk)
    const [head = '', body = ''] = text.split('\r\n\r\n')
    const [, length = ''] = /content-length: (\d+)/i.exec(head) ?? []
    if (length !== '' && body.length >= Number(length)) socket.end(answer(JSON.parse(body)))
  })
}

for (const language of LANGUAGES)
  describeLanguage(language)(`the client in ${language.name}`, () => {
    const { build, start, features = [] } = language
    let folder: string
    let runner: Runner
    let silent: Server
    let address: string
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'multihub-client-'))
      build?.(folder)
      runner = start(folder)
      ;[silent, address] = await listen(() => undefined)
    })
    afterAll(async () => {
      await runner?.stop()
      silent?.close()
      await rm(folder, { recursive: true, force: true })
    })

    const use = (base_url: string, limits: object): Promise<unknown> => {
      const credential = { application_id: 20001, secret: SECRET, version: 'v1' }
      return runner.act({ act: 'settings', settings: { base_url, ...credential, ...limits } })
    }

    /** What the creation of a withdrawal at this address ends in. */
    async function create(
      base_url: string,
      more: object = {},
      limits: object = LIMITS,
    ): Promise<RunnerError | undefined> {
      await use(base_url, limits)
      const payment = {
        identifiers: { c_id: randomUUID() },
        amount: { value: 12_300, currency: 'INR' },
        receiver: { bank: { account: { id: '123456789012' }, ifsc: 'SBIN0001234' } },
      }
      const request = { service_id: 30014, params: { payment } }
      return (await runner.act({ act: 'create', method: 'payment.out', request, ...more })).error
    }

    test('ends in an unknown outcome if a server takes the request and stays silent', async () => {
      expect(await create(`http://${address}`)).toMatchObject(UNKNOWN)
    })

    test('ends within its limit if a server stays silent during the TLS handshake', async () => {
      const expected = features.includes('handshake') ? NOT_SENT : UNKNOWN
      expect(await create(`https://${address}`)).toMatchObject(expected)
    })

    if (!features.includes('handshake'))
      test('says that nothing was sent if its limit is longer than the one of fetch for a handshake', async () => {
        const limits = { ...LIMITS, timeout_ms: 60_000, tries_max: 1 }
        expect(await create(`https://${address}`, {}, limits)).toMatchObject(NOT_SENT)
      })

    test('says that nothing was sent if no server is there', async () => {
      const nowhere = `http://127.0.0.1:${await freePort()}`
      expect(await create(nowhere)).toMatchObject(NOT_SENT)
      const many = { ...LIMITS, tries_max: 1_100, wait_ms: 1, wait_max_ms: 1 }
      expect(await create(nowhere, {}, many)).toMatchObject(NOT_SENT)
      // A process that ended since may have sent it.
      expect(await create(nowhere, { resume: true })).toMatchObject(UNKNOWN)
    })

    test('ends in an unknown outcome if the server is gone after a first try', async () => {
      const [, one] = await listen((socket, server) => {
        server.close()
        socket.once('data', () => socket.destroy())
      })
      expect(await create(`http://${one}`)).toMatchObject(UNKNOWN)
    })

    test('ends in an unknown outcome if the server is gone after an answer that can be an older refusal', async () => {
      for (const code of [1000, 2000, 7001])
        expect(await create(await answerOnce(signedRefusal(code)))).toMatchObject(UNKNOWN)
    })

    test('finds its payment after an answer that can be an older refusal, and connections that are refused', async () => {
      const created = new Date().toISOString()
      const timestamps = { created, updated: created }
      const status = { status: 'processing', final: false, success: null, error: null, history: [] }
      let existing: object | undefined
      const [first, one] = await listen((socket, server) => {
        server.close()
        readRequest(socket, ({ service_id, params }) => {
          existing = { ...params.payment, service_id, destination: 'out', status, timestamps, operations: [] }
          return signedRefusal(1000)
        })
      })
      // The deadline ends it, not the tries, which are over within a second or two.
      const creation = create(`http://${one}`, {}, { ...LIMITS, tries_max: 100_000, wait_max_ms: 20 })
      await once(first, 'close')
      // No server sees the refused connections of the client. Those of the test take as long as several of them.
      let refused_count = 0
      await eventually(
        async () => (refused_count += Number(await isRefused(one))),
        (count) => count === 5,
      )
      const second = createServer((socket) => {
        socket.on('error', () => undefined)
        readRequest(socket, ({ method }) =>
          method === 'payment.status' ? signed({ result: { payment: existing } }) : signedRefusal(6009),
        )
      })
      second.listen(Number(one.split(':')[1]), '127.0.0.1')
      try {
        expect([existing === undefined, await creation]).toEqual([false, undefined])
      } finally {
        second.close()
      }
    })

    test('ends in an unknown outcome if the server is gone after it has asked for another connection', async () => {
      const misdirected = 'HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n'
      expect(await create(await answerOnce(misdirected))).toMatchObject(UNKNOWN)
    })

    test.each([
      { method: 'refund.request', more: { payment: { c_id: 'a' } } },
      { method: 'ticket.create', more: { title: 'A', description: 'B', category: 'question' } },
    ])('says that $method was sent if only its last tries were not', async ({ method, more }) => {
      const params = { identifiers: { c_id: randomUUID() }, ...more }
      const call = { act: 'call', method, request: { params } }
      const limits = { ...LIMITS, tries_max: 3 }
      await use(await answerOnce(), limits)
      expect((await runner.act(call)).error).toMatchObject({ kind: 'transport', reason: 'timeout' })
      await use(await answerOnce(signedRefusal(1000)), limits)
      expect((await runner.act(call)).error).toMatchObject({ kind: 'refusal', code: 1000 })
      await use(`http://127.0.0.1:${await freePort()}`, limits)
      expect((await runner.act(call)).error).toMatchObject(NOT_SENT)
    })
  })
