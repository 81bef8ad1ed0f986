import { z } from 'zod'
import type { Bus } from '#lib/platform/bus/bus.ts'
import { openBus } from '#lib/platform/bus/open.ts'
import {
  type Config,
  ConfigError,
  type ConfigSchema,
  describedSetting,
  optionalSetting,
  readConfig,
  setting,
} from '#lib/platform/config/config.ts'
import {
  booleanSetting,
  directorySetting,
  integerSetting,
  secretSetting,
  textSetting,
} from '#lib/platform/config/settings.ts'
import { createKeyring, type Keyring } from '#lib/platform/crypto/keyring.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import type { Lifecycle } from '#lib/platform/process/lifecycle.ts'
import { formatHostAndPort } from '#lib/platform/process/listen.ts'
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
import { MONGODB_CONNECTIONS, openStore } from '#lib/platform/store/open.ts'
import type { Store } from '#lib/platform/store/store.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { METRICS_TYPE, metricsText } from '#lib/platform/telemetry/metrics.ts'
import { every } from '#lib/platform/time.ts'

/** Loads the code of a role on demand, so that a process holds only the roles that it runs. */
const LOAD_ROLE: Readonly<Record<RoleName, () => Promise<{ readonly role: Role }>>> = {
  sandbox: () => import('./services/sandbox/service.ts'),
  merchants: () => import('./services/merchants/service.ts'),
  balances: () => import('./services/balances/service.ts'),
  notifier: () => import('./services/notifier/service.ts'),
  payments: () => import('./services/payments/service.ts'),
  gateway: () => import('./gateway/service.ts'),
}

/** The infrastructure that all processes of a system share. */
const INFRASTRUCTURE_SETTINGS = {
  mongodb_uri: describedSetting(
    'The database: a MongoDB replica set or sharded cluster. Without it, state is kept in embedded files.',
    optionalSetting(secretSetting('MONGODB_URI')),
  ),
  mongodb_connections: describedSetting(
    'The most connections of one role to each MongoDB server. Writes use at most 80 % of them.',
    integerSetting('MULTIHUB_MONGODB_CONNECTIONS', { min: 5, max: 1_000, fallback: MONGODB_CONNECTIONS }),
  ),
  nats_url: describedSetting(
    'The NATS server over which processes exchange events. One process with all roles needs none.',
    optionalSetting(secretSetting('NATS_URL')),
  ),
  embedded_store: describedSetting(
    'Allows embedded files in Kubernetes, which are refused there by default.',
    booleanSetting('MULTIHUB_EMBEDDED_STORE', false),
  ),
  kubernetes: describedSetting(
    'Set by Kubernetes itself. It shows that the process runs there.',
    optionalSetting(textSetting('KUBERNETES_SERVICE_HOST')),
  ),
} as const

const MASTER_KEYS = setting<Keyring>(
  'MULTIHUB_MASTER_KEYS',
  'keys such as 2026a:64-hex-digits, separated by commas, the newest first, each id once',
  z.string().transform((keys, { addIssue }) => {
    try {
      return createKeyring(new Secret(keys))
    } catch {
      addIssue('not master keys')
      return z.NEVER
    }
  }),
)

/** A database name of MongoDB and a token of a NATS subject. */
const SYSTEM_NAME = setting(
  'MULTIHUB_SYSTEM_NAME',
  'a name of up to 20 of a-z 0-9 _ - that begins with a letter',
  z.string().regex(/^[a-z][a-z0-9_-]{0,19}$/),
  { value: 'multihub', text: 'multihub' },
)

/** The settings of every process, whichever roles it runs. */
export const PROCESS_SETTINGS = {
  home: describedSetting('The directory of the embedded files.', directorySetting('MULTIHUB_HOME', '.local')),
  ...INFRASTRUCTURE_SETTINGS,
  system_name: describedSetting(
    'The name of the system. It begins its database names and NATS subjects, so that several systems can share servers.',
    SYSTEM_NAME,
  ),
  keyring: describedSetting('Encrypts stored secrets; see Keys.', MASTER_KEYS),
  ...RPC_SETTINGS,
} as const

/** A process whose roles accept calls. */
export interface RunningProcess {
  readonly urls: ReadyUrls
  /** Clients with the operator's rights: `npm start` creates its demonstration data with them. */
  readonly operator: ClientOf
}

const CHECK_INTERVAL_MS = 1_000
const CLOSE_GRACE_MS = 4_000

/** The roles named on a command line; `all` means every role. Throws `StartError` for an unknown word or for none. */
export function parseRoleNames(words: readonly string[]): readonly RoleName[] {
  const named = words.includes('all') ? ROLES : ROLES.filter((role) => words.includes(role))
  const unknown = words.find((word) => word !== 'all' && !ROLES.some((role) => role === word))
  if (unknown !== undefined || named.length === 0) {
    const fault = unknown === undefined ? 'no role is named' : `${unknown} is not a role`
    throw new StartError(`${fault}: name one or more of ${ROLES.join(', ')}, or all`)
  }
  return named
}

/** The database of a role. No two roles and no two systems share one. */
export function databaseOf(system_name: string, role: RoleName): string {
  return `${system_name}_${role}`
}

/** Loads the code of roles, in the order of `names`. */
export function loadRoles(names: readonly RoleName[]): Promise<readonly Role[]> {
  return Promise.all(names.map(async (name) => (await LOAD_ROLE[name]()).role))
}

/**
 * Starts roles in this process, each after the roles that it needs, and opens their ports. `schema` says whether their
 * databases are created or only verified (see `StoreOptions`).
 */
export async function startRoles(
  names: readonly RoleName[],
  variables: Readonly<Record<string, string | undefined>>,
  lifecycle: Lifecycle,
  schema: 'create' | 'verify',
): Promise<RunningProcess> {
  const roles = await loadRoles(names)
  const config = readProcessSettings(roles, variables)
  const { keyring } = config
  const bus = await openBus({
    nats_url: config.nats_url,
    name: names.join('+'),
    prefix: config.system_name,
  })
  lifecycle.onStop('bus', () => bus.close())
  const rpc = await createRpc(config)
  lifecycle.onStop('rpc clients', () => rpc.close())
  const role_variables: Record<string, string | undefined> = { ...variables }
  const urls: Record<string, string> = {}
  const stores = new Map<RoleName, Store>()
  const running = new Map<RoleName, RunningRole>()

  for (const role of roles) {
    const { name } = role
    const context: RoleContext = {
      variables: role_variables,
      client: name === 'sandbox' ? noClients : rpc.clientsOf(name),
      clientAt: (address, service) => rpc.clientsAt(address)(service),
      bus,
      keyring,
      stopping: lifecycle.stopping,
      async openStore() {
        const store = await openStore({
          database: databaseOf(config.system_name, name),
          mongodb_uri: config.mongodb_uri,
          connections_max: config.mongodb_connections,
          directory: `${config.home}/data`,
          schema,
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
    // A sandbox in this process may listen on any free port, so the roles after it need its URL.
    role_variables['MULTIHUB_SANDBOX_URL'] ??= urls['sandbox_url']
  }
  const serving = await serve(rpc, lifecycle, config, urls)
  await watchReadiness(lifecycle, bus, stores, running, serving)
  return { urls, operator: rpc.clientsOf('operator') }
}

/** Reads the settings of the process. Throws one `ConfigError` with all problems of the process and of its roles. */
function readProcessSettings(
  roles: readonly Role[],
  variables: Readonly<Record<string, string | undefined>>,
): Config<typeof PROCESS_SETTINGS> {
  const problems = new Set<string>()
  const read = <S extends ConfigSchema>(schema: S): Config<S> | undefined => {
    try {
      return readConfig(schema, variables)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      for (const problem of error.problems) problems.add(problem)
      return undefined
    }
  }
  const config = read(PROCESS_SETTINGS)
  for (const { settings } of roles) read(settings)
  const infrastructure = read(INFRASTRUCTURE_SETTINGS)
  if (infrastructure !== undefined)
    for (const problem of missingInfrastructure(roles, infrastructure)) problems.add(problem)
  if (config === undefined || problems.size > 0) throw new ConfigError([...problems])
  return config
}

/** Refuses a process that would start without the database or bus that it must share with the others. */
function missingInfrastructure(
  roles: readonly Role[],
  config: Config<typeof INFRASTRUCTURE_SETTINGS>,
): readonly string[] {
  const problems = []
  const is_sandbox_only = roles.length === 1 && roles[0]?.name === 'sandbox'
  if (roles.length < ROLES.length && !is_sandbox_only && config.nats_url === undefined) {
    problems.push('NATS_URL is missing: roles in several processes exchange events over NATS')
  }
  if (config.kubernetes !== undefined && config.mongodb_uri === undefined && !config.embedded_store) {
    problems.push(
      'MONGODB_URI is missing: set it, or set MULTIHUB_EMBEDDED_STORE=true to use embedded files in Kubernetes',
    )
  }
  return problems
}

const noClients: ClientOf = () => {
  throw new TypeError('the sandbox calls no other role')
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
  urls['grpc_url'] = `${scheme}://${formatHostAndPort(host, serving.grpc_port)}`
  urls['connect_url'] = `${scheme}://${formatHostAndPort(host, serving.connect_port)}`
  return serving
}

/** Checks every part once per second and publishes the result as readiness and gRPC health. */
async function watchReadiness(
  lifecycle: Lifecycle,
  bus: Bus,
  stores: ReadonlyMap<RoleName, Store>,
  running: ReadonlyMap<RoleName, RunningRole>,
  serving: ServingRpc,
): Promise<void> {
  const checkParts = async (): Promise<void> => {
    lifecycle.readiness.set('bus', bus.connected())
    const checks = [...running].map(async ([name, role]) => {
      const is_ready = await succeeds(async () => {
        await stores.get(name)?.ping()
        await role.check?.()
      })
      lifecycle.readiness.set(name, is_ready)
      serving.setRoleServing(name, is_ready)
    })
    await Promise.all(checks)
    serving.setServing(lifecycle.readiness.state().ready)
  }
  const timer = every(CHECK_INTERVAL_MS, checkParts, (error) =>
    log.error({ error }, 'readiness check failed'),
  )
  lifecycle.onStop('readiness', () => timer.cancel())
  await checkParts()
}

async function succeeds(check: () => Promise<void>): Promise<boolean> {
  try {
    await check()
    return true
  } catch (error) {
    log.warn({ error }, 'a part of the process is not ready')
    return false
  }
}
