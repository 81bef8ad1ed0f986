import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Variables } from '#lib/base/config/config.ts'
import { ROLES } from '#lib/role/role.ts'
import { createLifecycle, type Lifecycle } from '../../app/lifecycle.ts'
import { parseRoleNames, startRoles } from '../../app/roles.ts'
import { explainStartError } from '../../app/run.ts'
import { startLocal } from '../../scripts/start.ts'
import { runUntilEnd } from '../support/child.ts'
import { ANY_PORTS, freePort, PORT_VARIABLES } from '../support/free-port.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

/** Settings of a start that does not wait long, and does not say that it waits. */
const IMPATIENT = { MULTIHUB_START_WAIT: '2s', MULTIHUB_LOG_LEVEL: 'error' }
const KEYS = { MULTIHUB_MASTER_KEYS: `test:${'a'.repeat(64)}` }

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'multihub-start-'))
})
afterEach(() => rm(home, { recursive: true, force: true }))

describe('a failed start ends with code 1 and says what to do', () => {
  let taken: Server
  let taken_port: string
  beforeAll(async () => {
    taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    taken_port = String(typeof address === 'object' ? address?.port : 0)
  })
  afterAll(() => void taken.close())

  const settings = (variables: Variables) => ({ MULTIHUB_HOME: home, ...ANY_PORTS, ...variables })

  /** Runs a command, checks that it fails with code 1, and returns the lines of standard error. */
  async function refusalOfProcess(
    variables: Readonly<Record<string, string>>,
    [file = '', ...parameters]: readonly string[],
  ): Promise<readonly string[]> {
    const ended = await runUntilEnd(file, parameters, { ...settings({}), ...variables })
    expect(ended).toEqual({ code: 1, output: '', log: expect.stringMatching(/^.+\n/) })
    expect(ended.log).not.toMatch(/^\s+at |\{"level"/m)
    return ended.log.trimEnd().split('\n')
  }

  /** Starts the system in this process, checks that it fails, and returns the lines that a process prints. */
  const refusal = (variables: Variables): Promise<readonly string[]> =>
    refusalOf((lifecycle) => startLocal(settings(variables), lifecycle, () => {}))

  /** The same for these roles, outside of the local run. */
  const refusalOfRoles = (names: readonly string[], variables: Variables): Promise<readonly string[]> =>
    refusalOf((lifecycle) =>
      startRoles(parseRoleNames(names), settings(variables), lifecycle, { schema: 'verify' }),
    )

  async function refusalOf(start: (lifecycle: Lifecycle) => Promise<unknown>): Promise<readonly string[]> {
    const lifecycle = createLifecycle()
    const text = await start(lifecycle).then(() => 'it started', explainStartError)
    await lifecycle.stop(HANG_LIMIT_MS)
    return text.split('\n')
  }

  const portInUse = (variable: string): string =>
    `127.0.0.1:${taken_port} is used by another process: set ${variable} to a free port, or to 0 for any free port`

  test('a port is in use', async () => {
    const lines = await refusalOfProcess({ MULTIHUB_HTTP_PORT: taken_port }, ['scripts/start.ts'])
    expect(lines).toEqual([portInUse('MULTIHUB_HTTP_PORT')])
  })

  test('all ports are in use', async () => {
    const variables = Object.fromEntries(PORT_VARIABLES.map((variable) => [variable, taken_port]))
    expect((await refusal(variables)).toSorted()).toEqual(PORT_VARIABLES.map(portInUse).sort())
  })

  test('the port of the reference, which roles never open, may be in use', async () => {
    const lines = await refusalOfRoles(['merchants'], {
      ...KEYS,
      NATS_URL: 'nats://127.0.0.1:1',
      MULTIHUB_REFERENCE_PORT: taken_port,
      MULTIHUB_GRPC_PORT: taken_port,
    })
    expect(lines).toEqual([portInUse('MULTIHUB_GRPC_PORT')])
  })

  // R7
  test('several invalid settings are all reported', async () => {
    const [title, ...problems] = await refusal({
      MULTIHUB_GRPC_PORT: '70000',
      MULTIHUB_MASTER_KEYS: 'secret',
      MULTIHUB_RPC_CALLERS: 'nobody:1',
      MULTIHUB_HTTP_PORT: 'http',
      MULTIHUB_CREATE_TIMEOUT: '5',
      MULTIHUB_SANDBOX_DELAY: '-1',
    })
    expect(title).toBe('the configuration is not valid; correct these settings:')
    expect(problems.map((line) => line.trim().split(' ')[0]).sort()).toEqual([
      'MULTIHUB_CREATE_TIMEOUT',
      'MULTIHUB_GRPC_PORT',
      'MULTIHUB_HTTP_PORT',
      'MULTIHUB_MASTER_KEYS',
      'MULTIHUB_RPC_CALLERS',
      'MULTIHUB_SANDBOX_DELAY',
    ])
    expect(problems.join()).not.toContain('secret')
  })

  // R7
  test('a variable is not a setting, or the log level is not a level', async () => {
    const injected = {
      MULTIHUB_GRPC_PORT: 'tcp://10.0.0.1:9090',
      MULTIHUB_GRPC_PORT_9090_TCP_ADDR: '10.0.0.1',
      MULTIHUB_GATEWAY_SERVICE_PORT: '8080',
    }
    const [, ...problems] = await refusal({
      ...injected,
      MULTIHUB_HTTPS_PORT: '1',
      MULTIHUB_HOST_FILE: 'x',
      MULTIHUB_LOG_LEVEL: 'loud',
    })
    expect(problems.sort()).toEqual([
      '  MULTIHUB_HOST_FILE is not a setting: correct its name (docs/operators/settings.md) or remove it',
      '  MULTIHUB_HTTPS_PORT is not a setting: correct its name (docs/operators/settings.md) or remove it',
      '  MULTIHUB_LOG_LEVEL must be one of debug, info, warn, error, silent',
    ])
  })

  // R2
  test('a port on all addresses without the URL at which providers reach it', async () => {
    const variables = { MULTIHUB_HOST: '0.0.0.0', MULTIHUB_SANDBOX_URL: 'http://sandbox.example:9092' }
    const [, problem] = await refusal(variables)
    expect(problem).toMatch(
      /^ {2}MULTIHUB_PROVIDER_URL is missing: providers cannot send callbacks to 0\.0\.0\.0/,
    )
  })

  // R2
  test('a port on all addresses without the URL at which merchants reach it', async () => {
    const [, problem] = await refusal({ MULTIHUB_HOST: '0.0.0.0' })
    expect(problem).toMatch(/^ {2}MULTIHUB_PUBLIC_URL is missing: links to files cannot lead to 0\.0\.0\.0/)
  })

  test('the home is a file, or below a file', async () => {
    const file = join(home, 'file')
    await writeFile(file, '')
    for (const place of [file, join(file, 'below')]) {
      expect(await refusal({ MULTIHUB_HOME: place })).toEqual([
        `${place} cannot be used (ENOTDIR): set MULTIHUB_HOME to a directory that this user can write`,
      ])
    }
  })

  test('the data directory is a file', async () => {
    await writeFile(join(home, 'data'), '')
    expect(await refusal({})).toEqual([expect.stringMatching(/ENOTDIR.*make it a directory that this user/)])
  })

  test.each(['{"master_key":"12', '{}', ''])('the keys are damaged: %j', async (text) => {
    const path = join(home, 'keys.json')
    await writeFile(path, text)
    expect(await refusal({})).toEqual([
      `${path} is damaged: restore it from a backup, or remove the directory ${home} to start with new data`,
    ])
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  test('the keys are missing, but there is data', async () => {
    await mkdir(join(home, 'data', 'multihub_payments'), { recursive: true })
    await writeFile(join(home, 'data', 'multihub_payments', 'data.mdb'), '')
    expect(await refusal({})).toEqual([
      `${join(home, 'keys.json')} is missing, and the stored secrets cannot be decrypted without it: restore it from a backup`,
    ])
  })

  test('the file of the keys is a directory', async () => {
    await mkdir(join(home, 'keys.json'))
    expect(await refusal({})).toEqual([expect.stringContaining('set MULTIHUB_HOME to a directory')])
  })

  test('MongoDB does not run, or accepts connections and never responds', async () => {
    for (const port of [await freePort(), taken_port]) {
      const variables = { ...IMPATIENT, MONGODB_URI: `mongodb://me:hidden@127.0.0.1:${port}/` }
      expect(await refusalOfProcess(variables, ['scripts/start.ts'])).toEqual([
        expect.stringMatching(
          /^cannot start: MongoDB does not answer \((?!.*hidden).*: start it, or correct MONGODB_URI$/,
        ),
      ])
    }
  })

  test('NATS does not run, or accepts connections and never responds', async () => {
    for (const port of [await freePort(), taken_port]) {
      const variables = { ...IMPATIENT, NATS_URL: `nats://me:hidden@127.0.0.1:${port}` }
      const reason = port === taken_port ? 'timeout' : 'connection refused'
      expect(await refusalOfProcess(variables, ['scripts/start.ts'])).toEqual([
        `cannot start: NATS does not answer at 127.0.0.1:${port} (${reason}): start it, or correct NATS_URL`,
      ])
    }
  })

  test('a single role has no NATS', async () => {
    expect(await refusalOfRoles(['merchants'], KEYS)).toEqual([
      'the configuration is not valid; correct these settings:',
      '  NATS_URL is missing: roles in several processes exchange events over NATS',
    ])
  })

  test('Kubernetes has no MongoDB', async () => {
    expect(await refusal({ KUBERNETES_SERVICE_HOST: '10.0.0.1' })).toEqual([
      'the configuration is not valid; correct these settings:',
      '  MONGODB_URI is missing: set it, or set MULTIHUB_EMBEDDED_STORE=true to use embedded files in Kubernetes',
    ])
  })

  // N9, R4
  test('callbacks to private addresses are allowed outside of the local run', async () => {
    const local = { ...KEYS, MULTIHUB_SANDBOX_KEY: 'a'.repeat(64), MULTIHUB_CALLBACK_ALLOW: '127.0.0.0/8' }
    expect(await refusalOfRoles(['all'], local)).toEqual([
      'the configuration is not valid; correct these settings:',
      '  MULTIHUB_CALLBACK_ALLOW must not be set: only the local run (npm start) permits it',
    ])
  })

  // F5
  test('files are accepted without a virus scan outside of the local run', async () => {
    const local = { ...KEYS, MULTIHUB_SANDBOX_KEY: 'a'.repeat(64), MULTIHUB_SCANNER: 'none' }
    expect(await refusalOfRoles(['all'], local)).toEqual([
      'the configuration is not valid; correct these settings:',
      '  MULTIHUB_SCANNER must not be none: only the local run (npm start) permits it',
    ])
  })

  test('the role is unknown or missing', async () => {
    const roles = `name one or more of ${ROLES.join(', ')}, or all; --help names the commands too`
    expect(await refusalOfProcess(KEYS, ['main.ts', 'payment'])).toEqual([`payment is not a role: ${roles}`])
    expect(() => parseRoleNames([])).toThrow(`no role is named: ${roles}`)
  })
})
