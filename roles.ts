import { openBus } from '#lib/bus/open.ts'
import type { Bus } from '#lib/bus/port.ts'
import { ConfigError, optional, readConfig } from '#lib/config/config.ts'
import { boolean, directory, secret, text } from '#lib/config/fields.ts'
import { createKeyring } from '#lib/crypto/seal.ts'
import type { Lifecycle } from '#lib/process/lifecycle.ts'
import { ROLES, type Role, type RoleContext, type RoleName, type RunningRole } from '#lib/process/role.ts'
import type { ReadyUrls } from '#lib/process/run.ts'
import { type ClientOf, createRpc, type Rpc, type ServingRpc } from '#lib/rpc/rpc.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/port.ts'
import { log } from '#lib/telemetry/log.ts'
import { METRICS_TYPE, metricsText } from '#lib/telemetry/metrics.ts'
import { every } from '#lib/time.ts'

/** Each role's code is loaded when it is played, so that a process of one role holds no more than that. */
const LOAD: Readonly<Record<RoleName, () => Promise<{ readonly role: Role }>>> = {
  sandbox: () => import('./services/sandbox/service.ts'),
  merchants: () => import('./services/merchants/service.ts'),
  balances: () => import('./services/balances/service.ts'),
  notifier: () => import('./services/notifier/service.ts'),
  payments: () => import('./services/payments/service.ts'),
  gateway: () => import('./gateway/service.ts'),
}

/** What every process needs to know, whatever roles it plays. */
export const PROCESS_SETTINGS = {
  home: directory('MULTIHUB_HOME', '.local'),
  mongodb_uri: optional(secret('MONGODB_URI')),
  database_prefix: text('MULTIHUB_DATABASE_PREFIX', 'multihub'),
  nats_url: optional(secret('NATS_URL')),
  master_keys: secret('MULTIHUB_MASTER_KEYS'),
  embedded_store: boolean('MULTIHUB_EMBEDDED_STORE', false),
  kubernetes: optional(text('KUBERNETES_SERVICE_HOST')),
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

/** The roles that a command line asks for; `all` is every one. Throws `ConfigError` for any other word. */
export function rolesOf(words: readonly string[]): readonly RoleName[] {
  const asked = words.includes('all') ? ROLES : ROLES.filter((role) => words.includes(role))
  const unknown = words.find((word) => word !== 'all' && !ROLES.some((role) => role === word))
  if (unknown !== undefined || asked.length === 0) {
    throw new ConfigError([`${unknown ?? 'nothing'} is not a role: name some of ${ROLES.join(', ')}, or all`])
  }
  return asked
}

/** Starts roles in this process, in the order in which they need each other, and opens their ports. */
export async function startRoles(
  names: readonly RoleName[],
  environment: Readonly<Record<string, string | undefined>>,
  lifecycle: Lifecycle,
): Promise<RunningProcess> {
  const config = readConfig(PROCESS_SETTINGS, environment)
  refuseHalfSystems(names, config)
  const bus = await openBus({ nats_url: config.nats_url, name: names.join('+') })
  lifecycle.onStop('bus', () => bus.close())
  const rpc = await createRpc(config)
  lifecycle.onStop('rpc clients', () => rpc.close())
  const keyring = createKeyring(config.master_keys)
  const known: Record<string, string | undefined> = { ...environment }
  const urls: Record<string, string> = {}
  const stores = new Map<RoleName, Store>()
  const running = new Map<RoleName, RunningRole>()

  for (const name of names) {
    const { role } = await LOAD[name]()
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
  const serving = await serve(rpc, lifecycle, config.host, urls)
  watch(lifecycle, bus, stores, running, serving)
  return { urls, operator: rpc.clientsOf('operator') }
}

function refuseHalfSystems(
  names: readonly RoleName[],
  config: { nats_url: unknown; mongodb_uri: unknown; kubernetes: unknown; embedded_store: boolean },
): void {
  const problems = []
  const alone = names.length === 1 && names[0] === 'sandbox'
  if (names.length < ROLES.length && !alone && config.nats_url === undefined) {
    problems.push('NATS_URL is missing: roles in several processes tell each other what happened over NATS')
  }
  if (config.kubernetes !== undefined && config.mongodb_uri === undefined && !config.embedded_store) {
    problems.push(
      'MONGODB_URI is missing: in Kubernetes the embedded store must be asked for by MULTIHUB_EMBEDDED_STORE=true',
    )
  }
  if (problems.length > 0) throw new ConfigError(problems)
}

const noClients: ClientOf = () => {
  throw new TypeError('this role calls nobody')
}

async function serve(
  rpc: Rpc,
  lifecycle: Lifecycle,
  host: string,
  urls: Record<string, string>,
): Promise<ServingRpc> {
  const serving = await rpc.serve({
    '/healthz': () => ({ status: 200, content_type: 'text/plain', body: 'ok\n' }),
    '/readyz': () => {
      const { ok, waiting } = lifecycle.readiness.state()
      const body = ok ? 'ready\n' : `waiting for ${waiting.join(', ')}\n`
      return { status: ok ? 200 : 503, content_type: 'text/plain', body }
    },
    '/metrics': async () => ({ status: 200, content_type: METRICS_TYPE, body: await metricsText() }),
  })
  lifecycle.onStop('rpc', () => serving.close(CLOSE_GRACE_MS))
  urls['grpc_url'] = `http://${host}:${serving.grpc_port}`
  urls['connect_url'] = `http://${host}:${serving.connect_port}`
  return serving
}

/** Asks every part once a second whether it can work, and tells whoever asks for the health of the process. */
function watch(
  lifecycle: Lifecycle,
  bus: Bus,
  stores: ReadonlyMap<RoleName, Store>,
  running: ReadonlyMap<RoleName, RunningRole>,
  serving: ServingRpc,
): void {
  const look = async (): Promise<void> => {
    lifecycle.readiness.set('bus', bus.connected())
    for (const [name, role] of running) {
      const able = await works(async () => {
        await stores.get(name)?.ping()
        await role.check?.()
      })
      lifecycle.readiness.set(name, able)
      serving.setRoleServing(name, able)
    }
    serving.setServing(lifecycle.readiness.state().ok)
  }
  const timer = every(CHECK_INTERVAL_MS, look, (error) =>
    log.error({ error }, 'the readiness could not be found out'),
  )
  lifecycle.onStop('readiness', () => timer.cancel())
  for (const name of running.keys()) serving.setRoleServing(name, true)
  serving.setServing(true)
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
