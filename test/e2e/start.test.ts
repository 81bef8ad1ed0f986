import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, truncate } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Variables } from '#lib/base/config/config.ts'
import { ROLES } from '#lib/role/role.ts'
import { launch, type ReadyUrls, runUntilEnd, type SystemProcess, startProcess } from '../support/child.ts'
import { eventually } from '../support/eventually.ts'
import { ANY_PORTS, freePort, freePorts } from '../support/free-port.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** For a test that starts the system six times. */
const LONG_MS = 600_000
const KEYS = { MULTIHUB_MASTER_KEYS: `test:${'a'.repeat(64)}` }

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'multihub-start-'))
})
afterEach(() => rm(home, { recursive: true, force: true }))

test('compiled code is kept between starts', async () => {
  const print = '--eval=process.stdout.write(require("node:module").getCompileCacheDir())'
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, ['scripts/run.mjs', print, 'main.ts'], { cwd: ROOT, env: { PATH } })
  const [directory] = await once(child.stdout.setEncoding('utf8'), 'data')
  expect(directory).toContain(join(ROOT, 'node_modules', '.cache', 'compile'))
  await once(child, 'exit')
})

test('--help names all roles and commands', async () => {
  const { code, output } = await runUntilEnd('main.ts', ['--help'], {})
  expect(code).toBe(0)
  const lines = output.trimEnd().split('\n')
  for (const role of [...ROLES, 'all']) expect(lines[0]).toContain(role)
  const names = lines.slice(1).map((line) => line.split(' ')[1])
  expect(names).toEqual(['migrate', 'doctor', 'backup', 'restore', 'verify', 'reseal', 'archive', '--help'])
})

test('a start waits for a server that is missing, says so, and answers its probes', async () => {
  const health = await freePort()
  const { child, log, kill } = launch('scripts/start.ts', [], {
    MULTIHUB_HOME: home,
    ...ANY_PORTS,
    MULTIHUB_HEALTH_PORT: `${health}`,
    MONGODB_URI: `mongodb://me:hidden@127.0.0.1:${await freePort()}/`,
    NODE_ENV: 'test',
  })
  try {
    await eventually(
      async () => log(),
      (text) => text?.includes('a server does not answer yet; the start waits for it') === true,
    )
    expect(log()).toMatch(/"waiting":"MongoDB"/)
    expect(log()).not.toContain('hidden')
    expect((await fetch(`http://127.0.0.1:${health}/healthz`)).status).toBe(200)
    const ready = await fetch(`http://127.0.0.1:${health}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('waiting for sandbox')])
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  } finally {
    await kill()
  }
})

describe('a system that is started, stopped and started again', () => {
  let ports: Readonly<Record<string, string>>
  const running: (SystemProcess | ChildProcess)[] = []
  beforeEach(async () => {
    ports = await freePorts()
  })
  afterEach(async () => {
    for (const each of running.splice(0)) each.kill('SIGKILL')
    await portsAreFree()
  })

  const variables = () => ({ MULTIHUB_HOME: home, ...ports })
  const demo = async (): Promise<string> => readFile(join(home, 'demo.json'), 'utf8')
  const start = async (more: Variables = {}): ReturnType<typeof startProcess> => {
    const system = await startProcess('scripts/start.ts', [], { ...variables(), ...more })
    running.push(system)
    return system
  }
  const isFree = (port: string): Promise<boolean> =>
    new Promise((resolve) => {
      const server = createServer()
      server.once('error', () => resolve(false))
      server.listen(Number(port), '127.0.0.1', () => server.close(() => resolve(true)))
    })
  const portsAreFree = () =>
    eventually(
      async () => (await Promise.all(Object.values(ports).map(isFree))).every(Boolean),
      (free) => free === true,
    )

  /** Runs a command, and returns it with its output when the system is ready. */
  async function startCommand(
    command: string,
    parameters: readonly string[],
  ): Promise<{ child: ChildProcess; lines: readonly string[] }> {
    const child = spawn(command, parameters, {
      cwd: ROOT,
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...variables() },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    running.push(child)
    const lines: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line)
      if (line.startsWith('ready ')) return { child, lines }
    }
    throw new Error(`${command} ended before it was ready: ${lines.join('\n')}`)
  }

  /** Id and fingerprint of each provider account. */
  async function readAccounts({ urls }: { readonly urls: ReadyUrls }) {
    const { operator } = JSON.parse(await demo())
    const path = 'multihub.payments.v1.ProviderAccountService/ListProviderAccounts'
    const response = await fetch(`${urls['backoffice_url']}/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${operator.token}` },
      body: '{}',
    })
    const { accounts } = (await response.json()) as { accounts: { accountId: string; fingerprint: string }[] }
    return accounts.map(({ accountId, fingerprint }) => [accountId, fingerprint])
  }

  // R1, R5, P4
  test(
    'serves alone, ends with code 0 on SIGTERM, refuses other master keys and a damaged database, and starts again with the same data',
    async () => {
      const first = await start()
      const before = await demo()
      const accounts = await readAccounts(first)
      expect(accounts.map(([account_id]) => account_id)).toContain('sandbox')
      expect(JSON.parse(before)).toMatchObject({ base_url: first.urls['base_url'] })
      expect(first.log()).toContain(join(home, 'demo.json'))
      expect(first.log()).toContain('node scripts/credentials.mjs')

      // A second start on the same home, with the same or other ports, does not disturb the first.
      for (const other of [{}, ANY_PORTS]) {
        const second = launch('scripts/start.ts', [], { ...variables(), ...other })
        expect(await once(second.child, 'close')).toEqual([1, null])
        expect(second.log()).toBe(
          `a system already runs on ${home} and serves at ${first.urls['base_url']}: stop it, or set MULTIHUB_HOME to another directory\n`,
        )
        expect(await demo()).toBe(before)
      }
      expect((await fetch(`${first.urls['health_url']}/readyz`)).status).toBe(200)
      expect(await first.stop()).toBe(0)
      await portsAreFree()

      const wrong = launch('scripts/start.ts', [], { ...variables(), ...KEYS })
      expect(await once(wrong.child, 'close')).toEqual([1, null])
      expect(wrong.log()).toBe(
        'none of the stored secrets can be decrypted; provide the keys that encrypted them\n',
      )

      // Provider accounts of the sandbox are the same ones when it has another port.
      const again = await start({ MULTIHUB_SANDBOX_PORT: '0' })
      const sandbox_urls = [first, again].map(({ urls }) => `${urls['sandbox_url']}`)
      expect(sandbox_urls[1]).not.toBe(sandbox_urls[0])
      expect(await readAccounts(again)).toEqual(accounts)
      expect(await demo()).toBe(before.replace(...(sandbox_urls as [string, string])))
      expect(again.log()).toBe('')
      expect(await again.stop()).toBe(0)

      await truncate(join(home, 'data', 'multihub_payments', 'data.mdb'), 5_000)
      const damaged = launch('scripts/start.ts', [], variables())
      expect(await once(damaged.child, 'close')).toEqual([1, null])
      expect(damaged.log()).toMatch(/multihub_payments/)
    },
    LONG_MS,
  )

  // R2
  test('ends when its launcher is killed, and prints only the line `ready` to standard output', async () => {
    const { child, lines } = await startCommand('node', ['scripts/run.mjs', 'scripts/start.ts'])
    expect(lines).toEqual([
      expect.stringMatching(/^ready (\w+_url=http:\/\/127\.0\.0\.1:\d+(?:\/reference)? ?){9}$/),
    ])
    child.kill('SIGKILL')
    await portsAreFree()
  })

  test('ends completely when only the npm process gets SIGTERM', async () => {
    const { child } = await startCommand('npm', ['start'])
    child.kill('SIGTERM')
    const [code, signal] = await once(child, 'exit')
    // npm may end itself by the signal that it got, which shells show as 143.
    expect([0, 143]).toContain(signal === 'SIGTERM' ? 143 : code)
    await portsAreFree()
  })

  const killed = 'ends completely when only the npm process is killed'
  if (process.platform !== 'linux') test.skip(`${killed}: only Linux shows npm behind its shell`, () => {})
  else {
    test(killed, async () => {
      const { child } = await startCommand('npm', ['start'])
      child.kill('SIGKILL')
      await portsAreFree()
    })
  }
})
