import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { runInNewContext } from 'node:vm'
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
  backoffice: ['MULTIHUB_ATTACHMENTS_URL'],
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
  const user = `multihub_${service.command[0]}`
  expect(await readContainerSettings(service.command, variables)).toMatch(
    new RegExp(`^mongodb://${user}:[0-9a-f]{64}@mongodb:27017/\\?replicaSet=rs$`),
  )
})

test('no process sees the token of another, its users of MongoDB and NATS, or its keys', () => {
  for (const [, { command, secrets: seen = [] }] of processes)
    for (const kind of ['mongodb', 'rpc', 'nats', 'keys'])
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
    const callable = ROLES.filter((name) => name !== 'sandbox' && name !== 'backoffice')
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

test('MongoDB has a key file and a health check that starts it, and its data outlives it, as the signatures do', () => {
  expect(services).toMatchObject({
    mongodb: {
      entrypoint: [
        'bash',
        '-c',
        expect.stringMatching(/^install -m 400 .* && exec mongod --replSet rs .*--keyFile/),
      ],
      restart: 'unless-stopped',
      volumes: ['mongodb:/data/db', './deploy/start-mongodb.js:/etc/start-mongodb.js:ro'],
      healthcheck: {
        test: ['CMD', 'mongosh', '--quiet', '/etc/start-mongodb.js'],
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

/** What a MongoDB server with a key file answers to its own machine, as far as the script of the health check asks. */
function createServer() {
  const users = new Map<string, { user: string; pwd: string }>()
  const roles = new Set<string>()
  let state: 'new' | 'secondary' | 'primary' = 'new'
  let signed_in = false
  const demand = (condition: boolean) => {
    if (!condition) throw new Error('not authorized')
  }
  const admin = {
    auth(user: string, pwd: string) {
      demand(users.get(user)?.pwd === pwd)
      signed_in = true
    },
    createUser(user: { user: string; pwd: string }) {
      demand(state === 'primary' && (signed_in || users.size === 0))
      demand(!users.has(user.user))
      users.set(user.user, user)
    },
    getUser(name: string) {
      demand(signed_in)
      return users.get(name) ?? null
    },
    createRole({ role }: { role: string }) {
      demand(signed_in && !roles.has(role))
      roles.add(role)
    },
    getRole(name: string) {
      demand(signed_in)
      return roles.has(name) ? { role: name } : null
    },
  }
  const check = (): number => {
    signed_in = false
    const context: Record<string, unknown> = {
      db: {
        hello: () =>
          state === 'new'
            ? { isWritablePrimary: false }
            : { setName: 'rs', isWritablePrimary: state === 'primary' },
        getSiblingDB: (name: string) => (name === 'admin' ? admin : undefined),
      },
      rs: {
        initiate({ _id, members }: { _id: string; members: readonly { host: string }[] }) {
          expect([state, _id, members.map(({ host }) => host)]).toEqual(['new', 'rs', ['mongodb:27017']])
          state = 'secondary'
        },
      },
      quit(code: number) {
        throw Object.assign(new Error('quit'), { code })
      },
      require: () => ({ readFileSync: (path: string) => readSecret(path) }),
      load: (path: string) => runInNewContext(readSecret(path), context),
    }
    try {
      runInNewContext(readFileSync('deploy/start-mongodb.js', 'utf8'), context)
      return 0
    } catch (error) {
      const { code } = error as { code?: number }
      if (code === undefined) throw error
      return code
    }
  }
  return {
    users,
    check,
    elect: () => {
      state = 'primary'
    },
  }
}

function readSecret(path: string): string {
  return readFileSync(join(folder, secrets[basename(path)]?.file ?? ''), 'utf8')
}

test('the health check of MongoDB makes it a primary and creates each user once, also after a crash between them', () => {
  const server = createServer()
  expect(server.check()).toBe(1)
  expect(server.check()).toBe(1)
  server.elect()
  expect(server.check()).toBe(0)
  const names = [...server.users.keys()]
  expect(names.sort()).toEqual(
    ['administrator', 'migrate', ...ROLES].map((name) => `multihub_${name}`).sort(),
  )
  server.users.delete('multihub_payments')
  expect(server.check()).toBe(0)
  expect(server.users.size).toBe(names.length)
  for (const role of ROLES) {
    const uri = readSecret(`/run/secrets/mongodb-${role}`)
    expect(uri).toBe(
      `mongodb://multihub_${role}:${server.users.get(`multihub_${role}`)?.pwd}@mongodb:27017/?replicaSet=rs`,
    )
  }
})
