import { z } from 'zod'
import { openBus } from '#lib/platform/bus/open.ts'
import type { Bus } from '#lib/platform/bus/port.ts'
import {
  type Config,
  ConfigError,
  described,
  field,
  optional,
  readConfig,
  type Schema,
} from '#lib/platform/config/config.ts'
import { boolean, directory, secret, text } from '#lib/platform/config/fields.ts'
import { createKeyring, type Keyring } from '#lib/platform/crypto/seal.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import type { Lifecycle } from '#lib/platform/process/lifecycle.ts'
import { authorityOf } from '#lib/platform/process/listen.ts'
import {
  ROLES,
  type Role,
  type RoleContext,
  type RoleName,
  type RunningRole,
} from '#lib/platform/process/role.ts'
import type { ReadyUrls } from '#lib/platform/process/run.ts'
import { StartError } from '#lib/platform/process/start-error.ts'
import { type ClientOf, createRpc, type Rpc, type ServingRpc } from '#lib/platform/rpc/rpc.ts'
import { RPC_SETTINGS, type RpcConfig } from '#lib/platform/rpc/settings.ts'
import { openStore } from '#lib/platform/store/open.ts'
import type { Store } from '#lib/platform/store/port.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { METRICS_TYPE, metricsText } from '#lib/platform/telemetry/metrics.ts'
import { every } from '#lib/platform/time.ts'

/** Each role's code is loaded when it is played, so that a process of one role holds no more than that. */
const LOAD: Readonly<Record<RoleName, () => Promise<{ readonly role: Role }>>> = {
  sandbox: () => import('./services/sandbox/service.ts'),
  merchants: () => import('./services/merchants/service.ts'),
  balances: () => import('./services/balances/service.ts'),
  notifier: () => import('./services/notifier/service.ts'),
  payments: () => import('./services/payments/service.ts'),
  gateway: () => import('./gateway/service.ts'),
}

/** Where the parts of a system meet. */
const MEETING_SETTINGS = {
  mongodb_uri: described(
    'The database, a replica set or a sharded cluster; without it state is in embedded files.',
    optional(secret('MONGODB_URI')),
  ),
  nats_url: described(
    'What processes tell each other events over; one process alone needs none.',
    optional(secret('NATS_URL')),
  ),
  embedded_store: described(
    'Allows embedded files in Kubernetes, where they are refused otherwise.',
    boolean('MULTIHUB_EMBEDDED_STORE', false),
  ),
  kubernetes: described(
    'Set by Kubernetes itself; tells that the process runs there.',
    optional(text('KUBERNETES_SERVICE_HOST')),
  ),
} as const

const MASTER_KEYS = field<Keyring>(
  'MULTIHUB_MASTER_KEYS',
  'keys such as 2026a:64-hex-digits divided by commas, the newest first, each id once',
  z.string().transform((keys, { addIssue }) => {
    try {
      return createKeyring(new Secret(keys))
    } catch {
      addIssue('not such keys')
      return z.NEVER
    }
  }),
)

/** What every process needs to know, whatever roles it plays. */
export const PROCESS_SETTINGS = {
  home: described('Where embedded files are kept.', directory('MULTIHUB_HOME', '.local')),
  ...MEETING_SETTINGS,
  database_prefix: described(
    'Begins the name of every role’s database, so that systems can share a cluster.',
    text('MULTIHUB_DATABASE_PREFIX', 'multihub'),
  ),
  keyring: described('Seals the secrets that are stored; see Keys.', MASTER_KEYS),
  ...RPC_SETTINGS,
} as const

/** A process whose roles serve. */
export interface RunningProcess {
  readonly urls: ReadyUrls
  /** Clients with the operator's rights, for what this process does to itself (the demonstration's data). */
  readonly operator: ClientOf
}

const CHECK_INTERVAL_MS = 1_000
const CLOSE_GRACE_MS = 4_000

/** The roles that a command line asks for; `all` is every one. Throws `StartError` for any other word. */
export function parseRoleNames(words: readonly string[]): readonly RoleName[] {
  const asked = words.includes('all') ? ROLES : ROLES.filter((role) => words.includes(role))
  const unknown = words.find((word) => word !== 'all' && !ROLES.some((role) => role === word))
  if (unknown !== undefined || asked.length === 0) {
    const fault = unknown === undefined ? 'No role is named' : `${unknown} is not a role`
    throw new StartError(`${fault}: name some of ${ROLES.join(', ')}, or all.`)
  }
  return asked
}

/** Starts roles in this process, in the order in which they need each other, and opens their ports. */
export async function startRoles(
  names: readonly RoleName[],
  environment: Readonly<Record<string, string | undefined>>,
  lifecycle: Lifecycle,
): Promise<RunningProcess> {
  const roles = await Promise.all(names.map(async (name) => (await LOAD[name]()).role))
  const config = readAll(roles, environment)
  const { keyring } = config
  const bus = await openBus({ nats_url: config.nats_url, name: names.join('+') })
  lifecycle.onStop('bus', () => bus.close())
  const rpc = await createRpc(config)
  lifecycle.onStop('rpc clients', () => rpc.close())
  const known: Record<string, string | undefined> = { ...environment }
  const urls: Record<string, string> = {}
  const stores = new Map<RoleName, Store>()
  const running = new Map<RoleName, RunningRole>()

  for (const role of roles) {
    const { name } = role
    const context: RoleContext = {
      environment: known,
      client: name === 'sandbox' ? noClients : rpc.clientsOf(name),
      clientAt: (address, service) => rpc.clientsAt(address)(service),
      bus,
      keyring,
      stopping: lifecycle.stopping,
      async openStore() {
        const database = `${config.database_prefix}_${name}`
        const store = await openStore({
          database,
          mongodb_uri: config.mongodb_uri,
          directory: `${config.home}/data`,
        })
        stores.set(name, store)
        lifecycle.onStop(`${name} store`, () => store.close())
        return store
      },
    }
    const started = await role.start(context)
    lifecycle.onStop(name, () => started.stop())
    running.set(name, started)
    rpc.add(started.services)
    Object.assign(urls, await started.open?.())
    // A sandbox in this process may have taken any free port: the roles after it are told which.
    known['MULTIHUB_SANDBOX_URL'] ??= urls['sandbox_url']
  }
  const serving = await serve(rpc, lifecycle, config, urls)
  await watch(lifecycle, bus, stores, running, serving)
  return { urls, operator: rpc.clientsOf('operator') }
}

/** Reads the settings of the process. Whatever is wrong with them or with those of its roles is said in one go. */
function readAll(
  roles: readonly Role[],
  environment: Readonly<Record<string, string | undefined>>,
): Config<typeof PROCESS_SETTINGS> {
  const problems = new Set<string>()
  const read = <S extends Schema>(schema: S): Config<S> | undefined => {
    try {
      return readConfig(schema, environment)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      for (const problem of error.problems) problems.add(problem)
      return undefined
    }
  }
  const config = read(PROCESS_SETTINGS)
  for (const { settings } of roles) read(settings)
  const meeting = read(MEETING_SETTINGS)
  if (meeting !== undefined) for (const problem of partsApart(roles, meeting)) problems.add(problem)
  if (config === undefined || problems.size > 0) throw new ConfigError([...problems])
  return config
}

/** Each part of such a system would start and work for itself, and nobody would see at once what is missing. */
function partsApart(roles: readonly Role[], config: Config<typeof MEETING_SETTINGS>): readonly string[] {
  const problems = []
  const alone = roles.length === 1 && roles[0]?.name === 'sandbox'
  if (roles.length < ROLES.length && !alone && config.nats_url === undefined) {
    problems.push('NATS_URL is missing: roles in several processes tell each other what happened over NATS')
  }
  if (config.kubernetes !== undefined && config.mongodb_uri === undefined && !config.embedded_store) {
    problems.push(
      'MONGODB_URI is missing: in Kubernetes the embedded store must be asked for by MULTIHUB_EMBEDDED_STORE=true',
    )
  }
  return problems
}

const noClients: ClientOf = () => {
  throw new TypeError('this role calls nobody')
}

async function serve(
  rpc: Rpc,
  lifecycle: Lifecycle,
  { host, tls_key }: RpcConfig,
  urls: Record<string, string>,
): Promise<ServingRpc> {
  const serving = await rpc.serve({
    '/healthz': () => ({ status: 200, content_type: 'text/plain', body: 'ok\n' }),
    '/readyz': () => {
      const { ready: ok, unready_parts: waiting } = lifecycle.readiness.state()
      const body = ok ? 'ready\n' : `waiting for ${waiting.join(', ')}\n`
      return { status: ok ? 200 : 503, content_type: 'text/plain', body }
    },
    '/metrics': async () => ({ status: 200, content_type: METRICS_TYPE, body: await metricsText() }),
  })
  lifecycle.onStop('rpc', () => serving.close(CLOSE_GRACE_MS))
  const scheme = tls_key === undefined ? 'http' : 'https'
  urls['grpc_url'] = `${scheme}://${authorityOf(host, serving.grpc_port)}`
  urls['connect_url'] = `${scheme}://${authorityOf(host, serving.connect_port)}`
  return serving
}

/** Asks every part once a second whether it can work, and tells whoever asks for the health of the process. */
async function watch(
  lifecycle: Lifecycle,
  bus: Bus,
  stores: ReadonlyMap<RoleName, Store>,
  running: ReadonlyMap<RoleName, RunningRole>,
  serving: ServingRpc,
): Promise<void> {
  const look = async (): Promise<void> => {
    lifecycle.readiness.set('bus', bus.connected())
    const looks = [...running].map(async ([name, role]) => {
      const able = await works(async () => {
        await stores.get(name)?.ping()
        await role.check?.()
      })
      lifecycle.readiness.set(name, able)
      serving.setRoleServing(name, able)
    })
    await Promise.all(looks)
    serving.setServing(lifecycle.readiness.state().ready)
  }
  const timer = every(CHECK_INTERVAL_MS, look, (error) =>
    log.error({ error }, 'the readiness could not be found out'),
  )
  lifecycle.onStop('readiness', () => timer.cancel())
  await look()
}

async function works(check: () => Promise<void>): Promise<boolean> {
  try {
    await check()
    return true
  } catch (error) {
    log.warn({ error }, 'a part cannot work now')
    return false
  }
}
