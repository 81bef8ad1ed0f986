import { createServer } from 'node:net'
import { readBuildInfo } from '#lib/base/build-info.ts'
import { type ConfigSchema, readConfig, type Variables } from '#lib/base/config/config.ts'
import { keyIdsOf, readKeys } from '#lib/base/config/key-settings.ts'
import { StartError } from '#lib/base/start-error.ts'
import type { Bus } from '#lib/bus/bus.ts'
import type { NatsSecurity } from '#lib/bus/nats-connection.ts'
import { openBus } from '#lib/bus/open.ts'
import { connectableHost, formatHostAndPort, listen, simulatedNetwork } from '#lib/http/network.ts'
import { createClockGuard } from '#lib/patterns/clock-guard.ts'
import {
  KEY_PURPOSES,
  ROLES,
  type Role,
  type RoleContext,
  type RoleName,
  type RunningRole,
} from '#lib/role/role.ts'
import { type ClientOf, createRpc, type Rpc, type ServingRpc } from '#lib/rpc/rpc.ts'
import type { RpcConfig } from '#lib/rpc/settings.ts'
import {
  type ArchiveReader,
  createArchiveReader,
  warnOfUnreadable,
} from '#lib/store/archive/archive-reader.ts'
import { withArchive } from '#lib/store/archive/archived-collections.ts'
import { withStoreMetrics } from '#lib/store/measured-store.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { gauge } from '#lib/telemetry/metrics.ts'
import { openTracing } from '#lib/telemetry/tracing.ts'
import type { StartWait } from '#lib/telemetry/wait-for-server.ts'
import { watchConnectionCertificates } from './connection-certificates.ts'
import { serveHealth } from './health-server.ts'
import type { Lifecycle } from './lifecycle.ts'
import { PROCESS_SETTINGS, type ProcessConfig, readProcessSettings } from './process-settings.ts'
import type { ReadyUrls } from './run.ts'
import { watchFreeSpace } from './watch-free-space.ts'
import { setStarting, watchReadiness } from './watch-readiness.ts'

/** Loads the code of a role on demand, so that a process holds only the roles that it runs. */
const LOAD_ROLE: Readonly<Record<RoleName, () => Promise<{ readonly role: Role }>>> = {
  sandbox: () => import('../services/sandbox/service.ts'),
  merchants: () => import('../services/merchants/service.ts'),
  balances: () => import('../services/balances/service.ts'),
  notifier: () => import('../services/notifier/service.ts'),
  payments: () => import('../services/payments/service.ts'),
  attachments: () => import('../services/attachments/service.ts'),
  support: () => import('../services/support/service.ts'),
  gateway: () => import('../gateway/service.ts'),
  backoffice: () => import('../services/backoffice/service.ts'),
}

const build_info = gauge(
  'multihub_build_info',
  'Always 1, for each role of the process. The labels are the version, the commit if the image was built with it, and the ' +
    'version of Node.js.',
  ['role', 'version', 'commit', 'node'],
)

const active_master_key = gauge(
  'multihub_active_master_key',
  'Always 1. The label is the id of the master key whose derived keys encrypt and sign in this process.',
  ['key_id'],
)

const CLOSE_GRACE_MS = 4_000
/** The roles named on a command line; `all` means every role. Throws `StartError` for an unknown word or for none. */
export function parseRoleNames(words: readonly string[]): readonly RoleName[] {
  const named = words.includes('all') ? ROLES : ROLES.filter((role) => words.includes(role))
  const unknown = words.find((word) => word !== 'all' && !ROLES.some((role) => role === word))
  if (unknown !== undefined || named.length === 0) {
    const problem = unknown === undefined ? 'no role is named' : `${unknown} is not a role`
    throw new StartError(
      `${problem}: name one or more of ${ROLES.join(', ')}, or all; --help names the commands too`,
    )
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

/** Loads roles, and reads the settings of a process that runs them. A local run may have settings that others may not. */
export async function loadWithSettings(
  names: readonly RoleName[],
  variables: Variables,
  { is_local_run = false } = {},
): Promise<{ readonly roles: readonly Role[]; readonly config: ProcessConfig }> {
  const roles = await loadRoles(names)
  return { roles, config: await readProcessSettings(roles, variables, is_local_run, () => loadRoles(ROLES)) }
}

/** How roles start. */
export interface StartOptions {
  /** Whether the databases are created or only verified (see `StoreOptions`). */
  readonly schema: 'create' | 'verify'
  readonly is_local_run?: boolean
  /** Settings of ports that the caller opens itself. They are checked with the ports of the roles, so that one start names all. */
  readonly more_ports?: ConfigSchema
}

/**
 * Starts roles in this process one after the other, and opens their ports. `names` are in the order of `ROLES`, so that
 * each role starts after those that it needs. Returns the URLs, and clients with the rights of the operator for the
 * demonstration data of `npm start`.
 */
export async function startRoles(
  names: readonly RoleName[],
  variables: Variables,
  lifecycle: Lifecycle,
  { schema, more_ports = {}, ...rules }: StartOptions,
): Promise<{ readonly urls: ReadyUrls; readonly operator: ClientOf }> {
  const { roles, config } = await loadWithSettings(names, variables, rules)
  const { host } = config
  await checkPorts([PROCESS_SETTINGS, more_ports, ...roles.map(({ settings }) => settings)], variables, host)
  const { readiness, draining, stopping } = lifecycle
  setStarting(readiness, names)
  // First, so that probes are answered while the start waits for servers.
  const health = await serveHealth(readiness, { host, port: config.health_port, draining })
  lifecycle.onStop('health', () => health.close())
  const { version, commit } = readBuildInfo()
  for (const role of names) build_info.set({ role, version, commit, node: process.versions.node }, 1)
  const [active_id] = keyIdsOf(config)
  if (active_id !== undefined) active_master_key.set({ key_id: active_id }, 1)
  const name_in_traces = names.length === ROLES.length ? 'multihub' : `multihub-${names.join('-')}`
  lifecycle.onStop('traces', await openTracing(config, name_in_traces, version))
  const start_wait = { limit_ms: config.start_wait_ms, signal: stopping }
  const bus = await openProcessBus(config, names.join('+'), start_wait)
  lifecycle.onStop('bus', () => bus.close())
  const clock_guard = createClockGuard()
  lifecycle.onStop('clock guard', () => clock_guard.stop())
  const rpc = await createRpc(config)
  lifecycle.onStop('rpc clients', () => rpc.close())
  const role_variables: Record<string, string | undefined> = { ...variables }
  const urls: Record<string, string> = { health_url: `http://${health.host_and_port}` }
  const stores = new Map<RoleName, Store>()
  const running = new Map<RoleName, RunningRole>()
  const archive_reader = openArchive(config)

  for (const role of roles) {
    const { name } = role
    const context: RoleContext = {
      variables: role_variables,
      clientOf: name === 'sandbox' ? noClients : rpc.clientsOf(name),
      clientAt: (address, service) => rpc.clientsAt(address)(service),
      tls: rpc.tls,
      urls,
      streamsOf: (other) => running.get(other)?.handleStream,
      bus,
      keys: readKeys(config, KEY_PURPOSES[name]),
      clock_guard,
      draining,
      stopping,
      async openStore() {
        const opened = await openStore({
          database: databaseOf(config.system_name, name),
          mongodb_uri: config.mongodb_uri,
          connections_max: config.mongodb_connections,
          directory: `${config.home}/data`,
          schema,
          start_wait,
          now_ms: clock_guard.store_now_ms,
        })
        const store = withArchive(withStoreMetrics(opened, name), archive_reader)
        stores.set(name, store)
        lifecycle.onStop(`${name} store`, () => store.close())
        await clock_guard.start(() => store.readClock())
        return store
      },
    }
    const started = await role.start(context)
    lifecycle.onStop(name, () => started.stop())
    running.set(name, started)
    rpc.add(started.services)
    Object.assign(urls, await started.open?.())
    // The sandbox and the attachments may listen on any free port, so the roles after them need their URLs.
    role_variables['MULTIHUB_SANDBOX_URL'] ??= urls['sandbox_url']
    role_variables['MULTIHUB_ATTACHMENTS_URL'] ??= urls['attachments_url']
  }
  const serving = await serveRpc(rpc, lifecycle, config, urls)
  await Promise.all([...running.values()].map((role) => role.onServing?.()))
  const certificates = watchConnectionCertificates(lifecycle, config)
  await watchReadiness(lifecycle, { clock_guard, stores, running, serving, tls: rpc.tls, certificates })
  watchFreeSpace(lifecycle, config)
  lifecycle.setDrainTime(config.drain_ms)
  return { urls, operator: rpc.clientsOf('backoffice') }
}

/** The reader of the archive, after one warning in the log when its directory cannot be read. */
function openArchive({ archive }: ProcessConfig): ArchiveReader {
  void warnOfUnreadable(archive)
  return createArchiveReader(archive)
}

const noClients: ClientOf = () => {
  throw new TypeError('the sandbox calls no other role')
}

/** Opens the bus that the settings of a process choose. `name` is the name of its connection in the monitoring of NATS. */
export function openProcessBus(config: ProcessConfig, name: string, start_wait: StartWait): Promise<Bus> {
  return openBus({
    nats_url: config.nats_url,
    name,
    prefix: config.system_name,
    security: natsSecurityOf(config),
    start_wait,
  })
}

/** How NATS and a process authenticate each other, by its settings. */
export function natsSecurityOf(config: ProcessConfig): NatsSecurity {
  return {
    authority: config.nats_tls_authority,
    certificate: config.nats_tls_certificate,
    key: config.nats_tls_key,
    credentials: config.nats_credentials,
  }
}

/**
 * Throws one `StartError` that names every port that cannot be listened on, with its setting, so that an operator can
 * correct all of them together. Port 0 is always free. It must run before the process listens.
 */
async function checkPorts(
  schemas: readonly ConfigSchema[],
  variables: Variables,
  host: string,
): Promise<void> {
  if (simulatedNetwork() !== undefined) return
  const ports = schemas.flatMap((schema) => portsOf(schema, variables)).filter(({ port }) => port !== 0)
  const attempts = await Promise.allSettled(
    ports.map(({ variable, port }) => listen(createServer(), { host, port, variable })),
  )
  await Promise.all(attempts.map((attempt) => attempt.status === 'fulfilled' && attempt.value.close(0)))
  const failures = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason] : []))
  const unforeseen = failures.find((failure) => !(failure instanceof StartError))
  if (unforeseen !== undefined) throw unforeseen
  // A wrong host fails every port with the same sentence.
  const sentences = new Set(failures.map(({ message }: StartError) => message))
  if (sentences.size > 0) throw new StartError([...sentences].join('\n'))
}

function portsOf(schema: ConfigSchema, variables: Variables) {
  const port_settings = Object.entries(schema).filter(([, { is_port }]) => is_port)
  const values = readConfig(Object.fromEntries(port_settings), variables)
  return port_settings.map(([name, { variable }]) => ({ variable, port: Number(values[name]) }))
}

/**
 * Opens the RPC ports and adds their URLs to `urls`. From then on other processes can call the services of all roles.
 */
async function serveRpc(
  rpc: Rpc,
  lifecycle: Lifecycle,
  { host, tls_key }: RpcConfig,
  urls: Record<string, string>,
): Promise<ServingRpc> {
  const serving = await rpc.serve(lifecycle.draining)
  lifecycle.onStop('rpc', () => serving.close(CLOSE_GRACE_MS))
  const scheme = tls_key === undefined ? 'http' : 'https'
  const urlOf = (port: number): string => `${scheme}://${formatHostAndPort(connectableHost(host), port)}`
  urls['grpc_url'] = urlOf(serving.grpc_port)
  urls['connect_url'] = urlOf(serving.connect_port)
  return serving
}
