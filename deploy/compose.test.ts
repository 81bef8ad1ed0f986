import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { ROLES, ROLES_WITHOUT_BUS } from '#lib/role/role.ts'
import { readContainerSettings } from './settings.fixture.ts'

/** The parts of a service that the tests read. */
interface Service {
  readonly image: string
  readonly build?: object
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly env_file: readonly string[]
  readonly secrets: readonly string[]
  readonly profiles?: readonly string[]
  readonly volumes?: readonly string[]
  readonly networks: Readonly<Record<string, { readonly aliases?: readonly string[] }>>
  readonly ports?: readonly string[]
  readonly stop_grace_period?: string
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
  readonly volumes: object
}

/** How a process that serves is run. */
const SERVING = {
  restart: 'unless-stopped',
  depends_on: {
    migrate: { condition: 'service_completed_successfully' },
    nats: { condition: 'service_started' },
  },
  healthcheck: {
    test: ['CMD', '/nodejs/bin/node', '-e', expect.stringContaining('http://127.0.0.1:9094/readyz')],
    interval: '5s',
    timeout: '5s',
    start_period: '60s',
  },
}

/** How the job that migrates is run: once, after MongoDB and before all others. */
const MIGRATING = {
  restart: 'on-failure',
  env_file: [],
  depends_on: { mongodb: { condition: 'service_healthy' } },
  healthcheck: { disable: true },
}

/** Where a setting leads: the service, which listens there under its own name. */
const URLS = {
  MULTIHUB_SANDBOX_URL: 'http://sandbox:9092',
  MULTIHUB_PROVIDER_URL: 'http://payments:9093',
  MULTIHUB_ATTACHMENTS_URL: 'http://attachments:9095',
  MULTIHUB_SCANNER: 'clamd://clamav:3310',
}

/** The settings of each role that are not for all. */
const OWN_URLS: Readonly<Record<string, readonly (keyof typeof URLS)[]>> = {
  sandbox: ['MULTIHUB_SANDBOX_URL'],
  payments: ['MULTIHUB_SANDBOX_URL', 'MULTIHUB_PROVIDER_URL'],
  attachments: ['MULTIHUB_SCANNER'],
  gateway: ['MULTIHUB_ATTACHMENTS_URL'],
}

/** How long a process may take to end after its drain. */
const STOP_S = 15

const { services, secrets, networks, volumes } = parse(readFileSync('docker-compose.yml', 'utf8'), {
  merge: true,
  maxAliasCount: 1_000,
}) as Compose
const processes = Object.entries(services).filter(([, service]) => service.build !== undefined)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'multihub-compose-'))
  execFileSync(resolve('deploy/make-secrets.sh'), ['compose'], { cwd: folder })
})
afterAll(() => rmSync(folder, { recursive: true }))

test.each(processes)('the process %s accepts its settings', async (_name, service) => {
  const shared = service.env_file.flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const own = Object.entries(service.environment).map(([name, value]) => {
    if (!value.startsWith('/run/secrets/')) return [name, value]
    const secret = basename(value)
    expect(service.secrets).toContain(secret)
    return [name, join(folder, secrets[secret]?.file ?? '')]
  })
  const variables = { ...Object.fromEntries([...shared, ...own]), MULTIHUB_HOST: '0.0.0.0' }
  expect(await readContainerSettings(service.command, variables)).toBe(
    'mongodb://mongodb:27017/?replicaSet=rs',
  )
})

test('no process sees the token of another, its user of NATS, or its keys', () => {
  for (const [, { command, secrets: seen = [] }] of processes)
    for (const kind of ['rpc', 'nats', 'keys'])
      expect(seen.filter((name) => name.startsWith(`${kind}-`) && name !== `${kind}-${command[0]}`)).toEqual(
        [],
      )
})

test('every role runs once, and with the profile several at least twice under its name', () => {
  const first = processes
    .filter(([, { profiles }]) => profiles === undefined)
    .flatMap(([, { command }]) => command)
  expect(first.sort()).toEqual([...ROLES, 'migrate'].sort())
  const more = processes.filter(([, { profiles }]) => profiles !== undefined)
  for (const [, { profiles }] of more) expect(profiles).toEqual(['several'])
  const roles = new Set(more.flatMap(([, { command }]) => command))
  expect([...roles].sort()).toEqual(ROLES.filter((role) => role !== 'sandbox').sort())
  for (const [, { command, networks }] of more)
    if (command[0] !== 'gateway') expect(networks['default']?.aliases).toEqual(command)
})

test('every image of others is named with its digest', () => {
  for (const [, { image, build }] of Object.entries(services))
    if (build === undefined) expect(image).toMatch(/@sha256:[0-9a-f]{64}$/)
})

test.each(Object.entries(services))('%s has bounds and no rights of root', (_name, service) => {
  expect(service).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    mem_limit: expect.stringMatching(/^[1-4]g$/),
    pids_limit: expect.any(Number),
  })
  // The user of our own image is in the image.
  if (service.build === undefined)
    expect(service).toMatchObject({ user: expect.stringMatching(/^(?!root|0)/) })
})

test('the stores and the scanner are in networks that lead nowhere, with those that call them', () => {
  const of = (network: string) =>
    Object.entries(services).flatMap(([name, service]) => (network in service.networks ? [name] : []))
  const names = processes.map(([name]) => name)
  expect(of('stores').sort()).toEqual(['mongodb', 'nats', ...names].sort())
  expect(of('scanner').sort()).toEqual(['attachments', 'attachments-2', 'clamav'])
  expect(of('signatures')).toEqual(['freshclam'])
  expect(of('default').sort()).toEqual(names.filter((name) => name !== 'migrate').sort())
  expect(networks).toEqual({ stores: { internal: true }, scanner: { internal: true }, signatures: {} })
})

test('NATS knows the users of the roles, each with the password in its URL', () => {
  expect(services['nats']).toMatchObject({
    command: ['--config', '/etc/nats/users.conf'],
    volumes: ['./deploy/nats.conf:/etc/nats/users.conf:ro'],
    env_file: ['.local/compose/nats-passwords'],
  })
  const passwords = readFileSync(join(folder, '.local/compose/nats-passwords'), 'utf8')
  const roles = ROLES.filter((role) => !ROLES_WITHOUT_BUS.includes(role))
  for (const role of roles) {
    const url = readFileSync(join(folder, secrets[`nats-${role}`]?.file ?? ''), 'utf8')
    const [, password] = /^nats:\/\/[a-z]+:([a-z]{64})@nats:4222$/.exec(url) ?? []
    expect(passwords).toContain(`NATS_PASSWORD_${role.toUpperCase()}=${password}\n`)
    expect(url).toContain(`//${role}:`)
  }
  expect(new Set(passwords.trim().split('\n')).size).toBe(roles.length)
})

// O11: a container is created anew with each update, and then its log is gone.
test('payments and support append erasures to a file outside the databases and the containers', () => {
  const erasing = processes.filter(([, { environment }]) => 'MULTIHUB_ERASURES_FILE' in environment)
  expect(erasing.map(([name]) => name).sort()).toEqual(['payments', 'payments-2', 'support', 'support-2'])
  for (const [, service] of erasing)
    expect(service).toMatchObject({
      environment: { MULTIHUB_ERASURES_FILE: '/erasures/erasures.jsonl' },
      volumes: ['./.local/compose/erasures:/erasures'],
    })
  expect(statSync(join(folder, '.local/compose/erasures')).mode & 0o777).toBe(0o777)
  expect(statSync(join(folder, '.local/compose')).mode & 0o077).toBe(0)
})

test('the scanner has the settings of the manifests', () => {
  expect(services['clamav']?.volumes).toContain(
    './deploy/components/scanner/clamd.conf:/etc/clamav/clamd.conf:ro',
  )
})

test.each(processes)('%s has no rights, and is started and ended in order', (_name, service) => {
  const is_job = service.command[0] === 'migrate'
  expect(service).toMatchObject({
    build: { context: '.', dockerfile: 'deploy/image/Dockerfile' },
    image: 'multihub',
  })
  expect(service).toMatchObject(is_job ? MIGRATING : SERVING)
  const drain_s = is_job ? 0 : Number.parseInt(service.environment['MULTIHUB_DRAIN'] ?? '', 10)
  if (!is_job) expect(drain_s).toBeGreaterThan(0)
  expect(Number.parseInt(service.stop_grace_period ?? '', 10)).toBeGreaterThan(drain_s + STOP_S)
})

test.each(processes)(
  '%s has exactly the secrets that its settings name',
  (_name, { environment, secrets: seen }) => {
    const named = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'))
    expect([...seen].sort()).toEqual(named.map((value) => basename(value)).sort())
  },
)

test.each(processes)(
  '%s has the addresses of the roles that it may call',
  (_name, { command, environment }) => {
    const [role = ''] = command
    if (role === 'migrate') return
    const callable = ROLES.filter((name) => name !== 'sandbox' && name !== 'gateway' && name !== 'backoffice')
    for (const name of callable)
      expect(environment[`MULTIHUB_${name.toUpperCase()}_ADDRESS`]).toBe(`${name}:9090`)
    const names = Object.keys(URLS) as (keyof typeof URLS)[]
    for (const name of names)
      expect([name, environment[name]]).toEqual([
        name,
        OWN_URLS[role]?.includes(name) ? URLS[name] : undefined,
      ])
  },
)

test('each process of balances has an address of its own', () => {
  const namesOf = ([name, { networks }]: (typeof processes)[number]) => [
    name,
    ...(networks['default']?.aliases ?? []),
  ]
  const balances = processes.filter(([, { command }]) => command[0] === 'balances')
  expect(balances).toHaveLength(3)
  for (const one of balances) {
    const [host = '', port] = one[1].environment['MULTIHUB_BALANCES_SELF_ADDRESS']?.split(':') ?? []
    expect(port).toBe('9090')
    expect(processes.filter((other) => namesOf(other).includes(host))).toEqual([one])
  }
})

test('only three interfaces are published, and on this machine alone', () => {
  const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
    ports.map((port) => [name, port]),
  )
  expect(Object.fromEntries(published)).toEqual({
    gateway: '127.0.0.1:8080:8080',
    'gateway-2': '127.0.0.1:8081:8080',
    backoffice: '127.0.0.1:9096:9096',
  })
})

test('MongoDB is a replica set that makes itself a primary, and its data outlives it, as the signatures do', () => {
  expect(services).toMatchObject({
    mongodb: {
      command: ['--replSet', 'rs', '--bind_ip_all'],
      restart: 'unless-stopped',
      volumes: ['mongodb:/data/db'],
      healthcheck: {
        test: expect.arrayContaining([
          expect.stringMatching(
            /rs\.initiate\(\{ _id: 'rs', .*host: 'mongodb:27017'.*isWritablePrimary\) quit\(1\)/,
          ),
        ]),
        interval: '3s',
        timeout: '20s',
        retries: 40,
      },
    },
    nats: { restart: 'unless-stopped' },
    clamav: { restart: 'unless-stopped', entrypoint: ['clamd', '--foreground'] },
    freshclam: { restart: 'unless-stopped', image: services['clamav']?.image },
  })
  for (const name of ['clamav', 'freshclam'])
    expect(services[name]?.volumes).toContain('clamav:/var/lib/clamav')
  expect(volumes).toEqual({ mongodb: {}, clamav: {} })
})
