import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Secret } from '#lib/platform/crypto/secret.ts'
import { listen } from '#lib/platform/process/listen.ts'
import { now } from '#lib/platform/time.ts'
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

describe.each(receivers)('%s', (_name, script) => {
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

describe('scripts/receiver.mjs with a file name', () => {
  const [, script] = receivers[0]

  /** Posts a callback that is signed with the secret derived from `api_secret`; returns the HTTP status. */
  async function deliver(url: string, api_secret: string, body = BODY): Promise<number> {
    const bytes = Buffer.from(body)
    const headers = signDelivery(bytes, new Secret(callbackSecret(api_secret)), 'a-delivery', now())
    return (await fetch(url, { method: 'POST', headers, body: bytes })).status
  }

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
      const child = spawn(process.execPath, [script, file], { env: environment('0') })
      running.push(child)
      let stdout = ''
      child.stdout.on('data', (chunk: Buffer) => {
        stdout += chunk
      })
      const url = await eventually(
        async () => /at (http:\S+)/.exec(stdout)?.[1],
        (found) => found !== undefined,
      )
      if (url === undefined) throw new Error(`the receiver does not listen: ${stdout}`)
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
