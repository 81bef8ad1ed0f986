import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import { listen } from '#lib/http/network.ts'
import { signDelivery } from '../../services/notifier/delivery/sign-delivery.ts'
import { eventually } from '../support/eventually.ts'
import { callbackSecret } from '../support/receiver.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const EXAMPLES = join(ROOT, 'docs', 'merchants', 'examples')
const API_SECRET = 'ab'.repeat(32)
const BODY = JSON.stringify({
  id: 'one:payment.completed',
  data: {
    result: { payment: { status: { status: 'success' }, amount: { value: 12_300, currency: 'INR' } } },
  },
})

const script = join(EXAMPLES, 'receiver.ts')

const running: ChildProcess[] = []
afterAll(async () => {
  for (const child of running.filter(({ exitCode }) => exitCode === null)) {
    child.kill()
    await once(child, 'exit')
  }
})

const environment = (port: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  SECRET: API_SECRET,
  PORT: port,
})

interface ProcessResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function run(program: string, parameters: readonly string[], port = '0'): Promise<ProcessResult> {
  const { promise, resolve } = Promise.withResolvers<ProcessResult>()
  const child = execFile(program, parameters, { env: environment(port) }, (_error, stdout, stderr) =>
    resolve({ code: child.exitCode, stdout, stderr }),
  )
  return promise
}

/** Starts a receiver; returns its address. */
async function startProgram(): Promise<string> {
  const child = spawn(process.execPath, [script], { env: environment('0') })
  running.push(child)
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk
  })
  const port = await eventually(
    async () => /(?:port: |:)(\d+)/.exec(stdout)?.[1],
    (found) => found !== undefined,
  )
  return `http://127.0.0.1:${port}/`
}

/** Posts a callback that is signed with the secret derived from `api_secret`; returns the HTTP status. */
async function deliver(url: string, api_secret: string, body = BODY): Promise<number> {
  const bytes = Buffer.from(body)
  const headers = signDelivery(bytes, new Secret(callbackSecret(api_secret)), 'a-delivery', now())
  return (await fetch(url, { method: 'POST', headers, body: bytes })).status
}

/** Begins a request on a connection of its own, and resets the connection in the middle of the body. */
async function resetInBody(url: string): Promise<void> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' })
  socket.on('error', () => {})
  // The receiver has read the head when it asks for the body.
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n')
  await once(socket, 'data')
  socket.write('{"half', () => socket.resetAndDestroy())
  await once(socket, 'close')
}

describe('the receiver in TypeScript', () => {
  test('goes on after a connection that is reset in the middle of a body', async () => {
    const url = await startProgram()
    await resetInBody(url)
    expect(await deliver(url, API_SECRET)).toBeLessThan(300)
    // The process has had the time to fail: it has answered two more requests since.
    expect(await deliver(url, API_SECRET)).toBeLessThan(300)
  })

  test('refuses a body that is larger than any callback, also with a valid signature', async () => {
    const url = await startProgram()
    expect(await deliver(url, API_SECRET, BODY.padEnd(256 * 1024))).toBeLessThan(300)
    expect(await deliver(url, API_SECRET, BODY.padEnd(256 * 1024 + 1))).toBe(413)
    expect(await deliver(url, API_SECRET)).toBeLessThan(300)
  })

  test('verifies the signature before it parses the body', async () => {
    const url = await startProgram()
    expect(await deliver(url, 'cd'.repeat(32), 'not JSON')).toBe(401)
    expect(await deliver(url, API_SECRET, 'not JSON')).toBe(400)
  })

  test('fails with one line when its port is in use', async () => {
    const other = await listen(createServer(), { host: '127.0.0.1', port: 0, variable: 'none' })
    try {
      const stderr = `Port ${other.port} is in use: set PORT to another one.\n`
      expect(await run(process.execPath, [script], `${other.port}`)).toEqual({
        code: 1,
        stdout: '',
        stderr,
      })
    } finally {
      await other.close(0)
    }
  })

  test('accepts events of other resources, and the test event, so that its endpoint is not paused', async () => {
    const url = await startProgram()
    for (const [event, result] of [
      ['ticket.created', { ticket: { status: 'open' } }],
      ['refund.requested', { refund: { status: 'pending' } }],
      ['chargeback.created', { chargeback: { status: 'open' } }],
      ['webhook.test', {}],
    ])
      expect(await deliver(url, API_SECRET, JSON.stringify({ id: `one:${event}`, data: { result } }))).toBe(
        204,
      )
  })
})
