import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { listen } from '#lib/http/network.ts'
import { signDelivery } from '../../services/notifier/delivery/sign-delivery.ts'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { testWith } from '../support/needs.ts'
import { callbackSecret, type ReceivedCallback, type Receiver, startReceiver } from '../support/receiver.ts'
import { type SystemHere, startHere } from '../support/system.ts'

const MERCHANTS = join(import.meta.dirname, '..', '..', 'docs', 'merchants')
const EXAMPLES = join(MERCHANTS, 'examples')
const PING = '{"method":"gateway.ping","params":{}}'

test('the authentication page links every example file', async () => {
  const page = await readFile(join(MERCHANTS, 'authentication.md'), 'utf8')
  const linked = [...page.matchAll(/\]\(examples\/([\w.-]+)\)/g)].map(([, name]) => name)
  expect([...new Set(linked)].sort()).toEqual((await readdir(EXAMPLES)).sort())
})

const testInBash = testWith('bash', 'openssl', 'curl')

interface ProgramResult {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Runs an example as a merchant does: with the credential in the environment, and with standard input. */
async function run(
  name: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string>>,
  input: Buffer | string = '',
): Promise<ProgramResult> {
  const [program, script] = programOf(name)
  const { promise, resolve } = Promise.withResolvers<ProgramResult>()
  const env = { PATH: process.env['PATH'] ?? '', ...environment }
  const child = execFile(program, [script, ...parameters], { env }, (_error, output, errors) =>
    resolve({ code: child.exitCode, output, errors }),
  )
  // A program can end before it reads its input.
  child.stdin?.on('error', () => {}).end(input)
  return promise
}

const PROGRAMS: Readonly<Record<string, string>> = {
  '.ts': process.execPath,
  '.sh': 'bash',
  '.py': 'python3',
  '.php': 'php',
}

function programOf(name: string): readonly [program: string, script: string] {
  return [PROGRAMS[extname(name)] ?? '', join(EXAMPLES, name)]
}

describe('the examples of the authentication page', () => {
  let system: SystemHere
  let receiver: Receiver
  beforeAll(async () => {
    system = await startHere()
    receiver = await startReceiver()
  })
  const forgers: (() => Promise<void>)[] = []
  afterAll(async () => {
    for (const close of forgers) await close()
    await receiver?.stop()
    await system?.end()
  })

  /** The environment variables that the page asks merchants to set. */
  const variables = (version: 'v1' | 'v2'): Record<string, string> => {
    const { base_url, merchants } = system.demo()
    const credential = merchants[0]?.credentials.find(({ api_version }) => api_version === version)
    if (!credential) throw new Error(`demo.json has no ${version} credential`)
    return {
      BASE_URL: base_url,
      APPLICATION_ID: String(credential.application_id),
      SECRET: credential.secret,
    }
  }
  const depositBody = (webhook_url: string): string =>
    JSON.stringify({
      method: 'payment.in',
      service_id: merchantClient(system.demo).route({}),
      params: {
        payment: {
          identifiers: { c_id: `order-${webhook_url}` },
          amount: { value: 12_300, currency: 'INR' },
          payer: { email: 'customer@example.com' },
          webhook_url,
        },
      },
    })

  async function expectPing(name: string, version: 'v1' | 'v2'): Promise<void> {
    const { output, errors, code } = await run(name, [PING], variables(version))
    expect({ errors, code }).toEqual({ errors: '', code: 0 })
    expect(JSON.parse(output)).toMatchObject({ success: true, result: { message: 'pong' } })
    await expectSilence(name, [PING], version)
  }
  /** Expects that an example fails, and prints no response, when the response is unsigned or has another signature. */
  async function expectSilence(
    name: string,
    parameters: readonly string[],
    version: 'v1' | 'v2',
  ): Promise<void> {
    const unsigned = { SECRET: '0'.repeat(64) }
    const forged = { BASE_URL: await startForger() }
    for (const changed of [unsigned, forged]) {
      const refused = await run(name, parameters, { ...variables(version), ...changed })
      expect(refused).toMatchObject({ code: 1, output: '' })
      expect(refused.errors).toMatch(/^HTTP [24]00: the response is not signed with this secret\n$/)
    }
  }
  /** A server between merchant and gateway, which does not know the secret. Returns its address. */
  async function startForger(): Promise<string> {
    const headers = {
      'X-Data-Hash': 'a'.repeat(128),
      'X-Data-Signature': 'a'.repeat(128),
      'X-Request-ID': 'a',
    }
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(200, headers).end('{"success":true}'))
    })
    const forger = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
    forgers.push(() => forger.close(0))
    return `http://${forger.host_and_port}`
  }
  testInBash('a v1 request in bash', () => expectPing('v1.sh', 'v1'))
  testWith('python3')('a v1 request in Python', () => expectPing('v1.py', 'v1'))
  testWith('python3')('a v2 request in Python', () => expectPing('v2.py', 'v2'))
  test('a v1 request in TypeScript', () => expectPing('v1.ts', 'v1'))
  testInBash('a v2 request in bash', () => expectPing('v2.sh', 'v2'))
  test('a v2 request in TypeScript', () => expectPing('v2.ts', 'v2'))

  /** Creates a deposit with one example, resends its callback with another, and returns both callbacks. */
  async function createAndResend(create: string, resend: string): Promise<readonly ReceivedCallback[]> {
    const { output } = await run(create, [depositBody(`${receiver.url}?${create}`)], variables('v1'))
    const { c_id, h_id } = JSON.parse(output).result.payment.identifiers
    const completedCallbacks = (count: number) =>
      eventually(
        async () => receiver.of(c_id).filter(({ body }) => body.id === `${h_id}:payment.completed`),
        (callbacks) => callbacks?.length === count,
      )
    await completedCallbacks(1)
    const queued = await run(resend, [h_id, `again-${h_id}`], variables('v1'))
    expect(JSON.parse(queued.output)).toMatchObject({ success: true, result: { status: 'queued' } })
    await expectSilence(resend, [h_id, 'another'], 'v1')
    return completedCallbacks(2)
  }
  test('a deposit and a resend in TypeScript', async () => {
    const [first, second] = await createAndResend('v1.ts', 'resend.ts')
    expect(second?.headers['x-webhook-id']).not.toBe(first?.headers['x-webhook-id'])
  })

  /** Expects that an example verifies a real callback, and nothing that differs from it. */
  async function expectVerification(name: string, { headers, raw }: ReceivedCallback): Promise<void> {
    const names = ['timestamp', 'nonce', 'id', 'signature-v3']
    const sent = names.map((header) => headers[`x-webhook-${header}`] ?? '')
    const verify = (parameters: readonly string[], body: Buffer | string, environment = variables('v1')) =>
      run(name, parameters, environment, body)
    expect(await verify(sent, raw)).toEqual({ code: 0, output: 'verified\n', errors: '' })
    const refused = { code: 1, output: 'not verified\n' }
    expect(await verify(sent, `${raw} `)).toMatchObject(refused)
    expect(await verify(sent, raw, { WEBHOOK_SECRET: '0'.repeat(64) })).toMatchObject(refused)
    const { SECRET = '' } = variables('v1')
    const hour_ago = new Date(Date.now() - 3_600_000)
    const key = new Secret(callbackSecret(SECRET))
    const late: Readonly<Record<string, string>> = signDelivery(
      raw,
      key,
      headers['x-webhook-id'] ?? '',
      hour_ago,
    )
    const late_headers = ['Timestamp', 'Nonce', 'Id', 'Signature-V3'].map(
      (header) => late[`X-Webhook-${header}`] ?? '',
    )
    expect(await verify(late_headers, raw)).toMatchObject(refused)
    await expectNoEmptySecret(name)
  }
  /** Expects that an example without a secret verifies nothing: a signature with an empty key is easy to forge. */
  async function expectNoEmptySecret(name: string): Promise<void> {
    const at = new Date()
    const forged = signDelivery(Buffer.from('{}'), new Secret(callbackSecret('')), 'an-id', at, 'a-nonce')
    const parameters = [at.toISOString(), 'a-nonce', 'an-id', forged['X-Webhook-Signature-V3'] ?? '']
    for (const environment of [{}, { SECRET: '' }, { SECRET: '', WEBHOOK_SECRET: '' }]) {
      const { code, output } = await run(name, parameters, environment, '{}')
      expect(code).not.toBe(0)
      expect(output).not.toBe('verified\n')
    }
  }

  testInBash('a deposit, a resend and the verification of callbacks in bash', async () => {
    for (const callback of await createAndResend('v1.sh', 'resend.sh'))
      await expectVerification('verify-callback.sh', callback)
  })

  for (const [name, program, file] of [
    ['Python', 'python3', 'verify-callback.py'],
    ['PHP', 'php', 'verify-callback.php'],
  ] as const) {
    testWith(program)(`the verification of callbacks in ${name}`, async () => {
      const { body } = await merchantClient(system.demo).deposit(12_300, { webhook_url: receiver.url })
      const { c_id } = body.result.payment.identifiers
      const [callback] = await eventually(
        async () => receiver.of(c_id),
        (received = []) => received.length > 0,
      )
      if (callback === undefined) throw new Error('no callback was received')
      await expectVerification(file, callback)
    })
  }

  test('the receiver in TypeScript accepts verified callbacks only', async () => {
    const [program, script] = programOf('receiver.ts')
    const child = spawn(program, [script], { env: { ...variables('v1'), PORT: '0' } })
    try {
      let printed = ''
      child.stdout.on('data', (chunk: Buffer) => {
        printed += chunk
      })
      const port = await eventually(
        async () => /port: (\d+)/.exec(printed)?.[1],
        (found) => found !== undefined,
      )
      const url = `http://127.0.0.1:${port}/`
      const forged = await fetch(url, { method: 'POST', body: '{}' })
      expect(forged.status).toBe(401)
      const { output } = await run('v1.ts', [depositBody(url)], variables('v1'))
      const { h_id } = JSON.parse(output).result.payment.identifiers
      const waitForLine = (line: string) =>
        eventually(
          async () => printed,
          (text) => text?.includes(line) ?? false,
        )
      await waitForLine(`verified ${h_id}:payment.created`)
      await waitForLine(`verified ${h_id}:payment.completed success`)
    } finally {
      await endProcess(child)
    }
  })
})

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill()
  await once(child, 'exit')
}
