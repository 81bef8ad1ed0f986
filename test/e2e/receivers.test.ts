import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import { listen } from '#lib/http/network.ts'
import { signDelivery } from '../../services/notifier/delivery/sign-delivery.ts'
import { eventually } from '../support/eventually.ts'
import { testWith } from '../support/needs.ts'
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

const receivers = [
  ['scripts/receiver.mjs', join(ROOT, 'scripts', 'receiver.mjs')],
  ['the receiver in TypeScript', join(EXAMPLES, 'receiver.ts')],
] as const

/** A data folder with a `demo.json`, from which scripts/receiver.mjs reads the secrets. */
let home: string
const running: ChildProcess[] = []
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'multihub-receivers-'))
  const merchants = [{ credentials: [{ secret: API_SECRET }] }]
  await writeFile(join(home, 'demo.json'), JSON.stringify({ merchants }))
})
afterAll(async () => {
  for (const child of running.filter(({ exitCode }) => exitCode === null)) {
    child.kill()
    await once(child, 'exit')
  }
  await rm(home, { recursive: true, force: true })
})

const environment = (port: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  MULTIHUB_HOME: home,
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
async function startProgram(script: string, parameters: readonly string[] = []): Promise<string> {
  const child = spawn(process.execPath, [script, ...parameters], { env: environment('0') })
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

describe.each(receivers)('%s', (_name, script) => {
  test('goes on after a connection that is reset in the middle of a body', async () => {
    const url = await startProgram(script)
    await resetInBody(url)
    expect(await deliver(url, API_SECRET)).toBeLessThan(300)
    // The process has had the time to fail: it has answered two more requests since.
    expect(await deliver(url, API_SECRET)).toBeLessThan(300)
  })

  test('refuses a body that is larger than any callback, also with a valid signature', async () => {
    const url = await startProgram(script)
    expect(await deliver(url, API_SECRET, BODY.padEnd(256 * 1024))).toBeLessThan(300)
    expect(await deliver(url, API_SECRET, BODY.padEnd(256 * 1024 + 1))).toBe(413)
    expect(await deliver(url, API_SECRET)).toBeLessThan(300)
  })

  test('verifies the signature before it parses the body', async () => {
    const url = await startProgram(script)
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
})

describe('the receiver in TypeScript', () => {
  const [, [, script]] = receivers

  test('accepts events of other resources, and the test event, so that its endpoint is not paused', async () => {
    const url = await startProgram(script)
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

describe('scripts/receiver.mjs with a file name', () => {
  const [, script] = receivers[0]

  /** The command of docs/merchants/callbacks.md. */
  const verify = (file: string): Promise<ProcessResult> => {
    const program = join(EXAMPLES, 'verify-callback.sh')
    const command = `bash ${program} $(cat ${file}.headers) <${file}.body`
    return run('bash', ['--norc', '-c', command])
  }

  testWith('bash', 'openssl')(
    'saves the last callback in the form that verify-callback.sh reads',
    async () => {
      const file = join(home, 'callback')
      const url = await startProgram(script, [file])
      expect(await deliver(url, API_SECRET)).toBe(200)
      expect(await readFile(`${file}.body`, 'utf8')).toBe(BODY)
      expect(await verify(file)).toEqual({ code: 0, stdout: 'verified\n', stderr: '' })
      await writeFile(`${file}.body`, `${BODY} `)
      expect(await verify(file)).toMatchObject({ code: 1, stdout: 'not verified\n' })

      // A callback that does not verify is saved too, so that it can be examined; a request without its headers is not.
      expect(await deliver(url, 'cd'.repeat(32), `${BODY}\n`)).toBe(401)
      expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
      expect(await readFile(`${file}.body`, 'utf8')).toBe(`${BODY}\n`)
      expect(await verify(file)).toMatchObject({ code: 1, stdout: 'not verified\n' })
    },
  )

  test('fails at once when it cannot write the files', async () => {
    const { code, stderr } = await run(process.execPath, [script, join(home, 'nowhere', 'callback')])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The last callback cannot be saved: ENOENT.*\n$/)
  })
})
