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

/** What `npm start` leaves behind of which the receiver of scripts/ takes the secrets. */
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

interface Ran {
  readonly code: number | null
  readonly output: string
  readonly complaint: string
}

function run(program: string, parameters: readonly string[], port = '0'): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>()
  const child = execFile(program, parameters, { env: environment(port) }, (_error, output, complaint) =>
    resolve({ code: child.exitCode, output, complaint }),
  )
  return promise
}

describe.each(receivers)('%s', (_name, script) => {
  test('says in one line what to do when its port is taken', async () => {
    const other = await listen(createServer(), { host: '127.0.0.1', port: 0, variable: 'none' })
    try {
      const complaint = `Port ${other.port} is taken: set PORT to another one.\n`
      expect(await run(process.execPath, [script], `${other.port}`)).toEqual({
        code: 1,
        output: '',
        complaint,
      })
    } finally {
      await other.close(0)
    }
  })
})

describe('scripts/receiver.mjs with a name for files', () => {
  const [, script] = receivers[0]

  /** Posts a callback signed by a secret, and answers the status. */
  async function deliver(url: string, api_secret: string, body = BODY): Promise<number> {
    const bytes = Buffer.from(body)
    const headers = signDelivery(bytes, new Secret(callbackSecret(api_secret)), 'a-delivery', now())
    return (await fetch(url, { method: 'POST', headers, body: bytes })).status
  }

  /** The command of docs/merchants/callbacks.md. */
  const verify = (kept: string): Promise<Ran> => {
    const program = join(EXAMPLES, 'verify-callback.sh')
    const command = `bash ${program} $(cat ${kept}.headers) <${kept}.body`
    return run('bash', ['--norc', '-c', command])
  }

  testWith('bash', 'openssl')('keeps the last callback as verify-callback.sh takes it', async () => {
    const kept = join(home, 'callback')
    const child = spawn(process.execPath, [script, kept], { env: environment('0') })
    running.push(child)
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk
    })
    const url = await eventually(
      async () => /at (http:\S+)/.exec(said)?.[1],
      (found) => found !== undefined,
    )
    if (url === undefined) throw new Error(`the receiver does not listen: ${said}`)
    expect(await deliver(url, API_SECRET)).toBe(200)
    expect(await readFile(`${kept}.body`, 'utf8')).toBe(BODY)
    expect(await verify(kept)).toEqual({ code: 0, output: 'verified\n', complaint: '' })
    await writeFile(`${kept}.body`, `${BODY} `)
    expect(await verify(kept)).toMatchObject({ code: 1, output: 'not verified\n' })

    // One that it does not believe is kept too, for a look at what is wrong with it; what is no callback is not.
    expect(await deliver(url, 'cd'.repeat(32), `${BODY}\n`)).toBe(401)
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
    expect(await readFile(`${kept}.body`, 'utf8')).toBe(`${BODY}\n`)
    expect(await verify(kept)).toMatchObject({ code: 1, output: 'not verified\n' })
  })

  test('says at once that it cannot write there', async () => {
    const { code, complaint } = await run(process.execPath, [script, join(home, 'nowhere', 'callback')])
    expect(code).toBe(1)
    expect(complaint).toMatch(/^The last callback cannot be kept: ENOENT.*\n$/)
  })
})
