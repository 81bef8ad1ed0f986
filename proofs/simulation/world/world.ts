import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { useRandomness } from '#lib/base/crypto/random.ts'
import { useProcessStates } from '#lib/base/process-state.ts'
import { useCallingThread } from '#lib/base/thread.ts'
import { useClock } from '#lib/base/time.ts'
import { useNetwork } from '#lib/http/network.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { useArchiveMedium } from '#lib/store/archive/archive-file.ts'
import { loadRoles } from '../../../app/roles.ts'
import { BACKUP_ORDER, loadOperations } from '../../../operations/databases.ts'
import { SEALING_ROLES } from '../../../operations/reseal.ts'
import { BATCH_FORMATS } from '../../../services/balances/domain/hash-chain.ts'
import { type Activity, createActivity } from '../parts/activity.ts'
import { createSimulatedBus, type SimulatedBus } from '../parts/bus.ts'
import { createHttpNetwork, type HttpNetwork } from '../parts/http/http-network.ts'
import type { WireRequest } from '../parts/http/serve-in-memory.ts'
import { createLeaseMoments, type LeaseMoments } from '../parts/lease-moments.ts'
import { createPartitions, type Partitions } from '../parts/partitions.ts'
import { type Choices, createChoices } from '../parts/random.ts'
import { createRpcNetwork, type RpcNetwork } from '../parts/rpc/rpc-network.ts'
import { createScheduler, type Scheduler } from '../parts/scheduler.ts'
import { type Actor, createMachine, type Machine } from '../parts/simulated-process.ts'
import { createDatabase, type Database } from '../parts/store/database.ts'
import { createDatabaseServers, type DatabaseServers } from '../parts/store/database-server.ts'
import type { Change } from '../parts/store/memory-collection.ts'
import { type CarryCommand, isWrite } from '../parts/store/store.ts'
import { createTrace, type Trace } from '../parts/trace.ts'
import { createSimulatedArchive, type SimulatedArchive } from './archive.ts'
import { createBusAttacker } from './bus-attacker.ts'
import { type Cluster, createCluster } from './cluster.ts'
import { createDoorClients } from './door-clients.ts'
import { createMasterKeys, type MasterKeys } from './master-keys.ts'
import { noProviderFaults, type ProviderFaults } from './provider/faults.ts'
import type { Provider } from './provider/provider.ts'
import { kindOfRequest } from './provider/requests.ts'
import { createSandboxProvider } from './provider/sandbox.ts'
import {
  type AccountPlace,
  createProviders,
  DOWN_ORIGIN,
  PROVIDER_VARIABLES,
  SANDBOX_ORIGIN,
} from './providers.ts'
import { createReceivers, RECEIVER_ORIGINS, type Receivers } from './receiver.ts'
import { createScanner, type SimulatedScanner } from './scanner.ts'

/** The roles of every simulation. In some of them the sandbox is the provider. */
export const SIMULATED_ROLES = [
  'merchants',
  'balances',
  'notifier',
  'payments',
  'support',
  'gateway',
] as const

const ALL_ROLES = [...SIMULATED_ROLES, 'sandbox'] as const

/** The role of the seeds in which merchants send files. */
const FILES_ROLE = 'attachments'

/** The role of the seeds in which the operator acts through the back office. */
const BACKOFFICE_ROLE = 'backoffice'

/** The origin at which merchants reach the gateways. */
export const PUBLIC_ORIGIN = 'http://api.example.com:8080'

/** The token with which the first principal of the back office is made. */
export const FIRST_TOKEN = 'mhp_first'

const CALLBACK_ORIGIN = 'http://callbacks.example.com:9093'
/** The origin at which gateways reach the processes that keep files. */
const ATTACHMENTS_ORIGIN = 'http://attachments.example.com:9095'
/** The origin at which the people and programs of the operator reach the back office. */
const BACKOFFICE_ORIGIN = 'http://backoffice.example.com:9096'
/** The settings of all processes. */
const VARIABLES = {
  MULTIHUB_PROVIDER_URL: CALLBACK_ORIGIN,
  MULTIHUB_PUBLIC_URL: PUBLIC_ORIGIN,
  MULTIHUB_SCANNER: 'clamd://scanner.example.com:3310',
  MULTIHUB_BACKOFFICE_FIRST_TOKEN: sha256Hex(FIRST_TOKEN),
  ...PROVIDER_VARIABLES,
}

/** The retentions of the seeds in which days pass: the shortest that are permitted. */
const SHORT_RETENTIONS = {
  MULTIHUB_PERSON_RETENTION: '1d',
  MULTIHUB_TEST_RETENTION: '7d',
  MULTIHUB_DELIVERY_RETENTION: '8d',
}

/** Everything of one simulation: the system, and the world around it. */
export interface World {
  readonly seed: number
  readonly scheduler: Scheduler
  readonly machine: Machine
  readonly trace: Trace
  readonly databases: ReadonlyMap<RoleName, Database>
  readonly stores: DatabaseServers
  readonly bus: SimulatedBus
  readonly rpc: RpcNetwork
  readonly http: HttpNetwork
  readonly cluster: Cluster
  readonly activity: Activity
  readonly partitions: Partitions
  readonly lease_moments: LeaseMoments
  readonly provider: Provider
  /** How the simulated providers misbehave. The sandbox does not. */
  readonly provider_faults: ProviderFaults
  readonly account_place: AccountPlace
  readonly receivers: Receivers
  readonly scanner: SimulatedScanner
  readonly archive: SimulatedArchive
  /** The operator at the owners of the RPCs, as if each call had come through the back office. */
  readonly operator: ClientOf
  /** The operator through the back office, with a token. */
  readonly operatorWith: (token: string) => ClientOf
  readonly master_keys: MasterKeys
  /** The roles that a restore fills, in the order of a backup. */
  readonly restored_roles: readonly RoleOperations[]
  /** The settings of all processes. */
  readonly variables: Readonly<Record<string, string>>
  /** The roles that store secrets. */
  readonly sealing_roles: readonly RoleOperations[]
  /** The choices of one part of the simulation. */
  choicesOf(name: string): Choices
  /** Puts the clock, the randomness and the network of the machine back. */
  restore(): void
}

/** What is observed while a simulation runs. */
export interface WorldObservers {
  readonly onChange: (database: string, collection: string, change: Change, writer: Actor | undefined) => void
  /** Called when a process sends a request. */
  readonly onRequest: (request: WireRequest, sender: Actor, origin: string) => void
  readonly onCallback: (body: string) => void
  /** Called when a process publishes a message on the bus. */
  readonly onMessage: (subject: string, data: Uint8Array) => void
  /** Called with the digest of bytes that the virus scanner finds clean. */
  readonly onCleanScan: (sha256: string) => void
  readonly onLine?: (line: string) => void
}

/**
 * Makes a world without processes and without faults, and puts it in the place of the real one. `has_sandbox` makes the
 * role `sandbox` the provider, and `has_files` and `has_backoffice` add databases.
 */
export async function createWorld(
  seed: number,
  size: Pick<ClusterSize, 'has_sandbox' | 'has_files' | 'has_backoffice' | 'pause_days'>,
  observers: WorldObservers,
): Promise<World> {
  const choicesOf = (name: string): Choices => createChoices(seed, name)
  const scheduler = createScheduler()
  const machine = createMachine(scheduler)
  const lines = createTrace(observers.onLine)
  const trace: Trace = { ...lines, add: (line) => lines.add(`${scheduler.now_ms().toFixed(3)} ${line}`) }
  const activity = createActivity()
  const lease_moments = createLeaseMoments()
  const networks = createNetworks({ machine, trace, choicesOf }, activity, observers)
  const { http, rpc, bus, partitions } = networks
  const databases = createDatabases(size, (role, collection, change) => {
    const client = stores.client()
    observers.onChange(role, collection, change, machine.actorOf(client))
    if (client !== undefined) lease_moments.onChange(change, client)
  })
  const processes = () => cluster.places.flatMap(({ process }) => process ?? [])
  const stores = createDatabaseServers(machine, choicesOf('store'), trace, processes, partitions)
  const archive = createSimulatedArchive(machine, choicesOf('archive'))
  const restores = replaceSurroundings(machine, { http, archive }, choicesOf('product'))
  const variables = { ...VARIABLES, ...(size.pause_days && SHORT_RETENTIONS) }
  const databaseOf = (role: RoleName) => requireDatabase(databases, role)
  const provider_faults = noProviderFaults()
  const { provider, account_place } = createProviders(
    { machine, network: http, choices: choicesOf('provider'), trace },
    provider_faults,
    size.has_sandbox ? createSandboxProvider(machine, databaseOf('sandbox')) : undefined,
  )
  const receivers = createReceivers(
    machine,
    http,
    choicesOf('receivers'),
    RECEIVER_ORIGINS,
    observers.onCallback,
  )
  const master_keys = createMasterKeys()
  const roles = await loadRoles([...ALL_ROLES, FILES_ROLE, BACKOFFICE_ROLE])
  const cluster = createCluster({
    machine,
    trace,
    rpc,
    http,
    bus,
    carry: carryNoted({ machine, activity, stores }),
    databaseOf,
    has_archive: size.pause_days !== undefined,
    variables: () => ({ ...variables, ...account_place.variables() }),
    keys: master_keys.keys,
    roles: new Map(roles.map((role) => [role.name, role])),
    streamsOf: (role) => (role === FILES_ROLE ? http.streamTo(ATTACHMENTS_ORIGIN) : undefined),
  })
  return {
    seed,
    scheduler,
    machine,
    trace,
    ...networks,
    databases,
    stores,
    cluster,
    activity,
    lease_moments,
    provider,
    provider_faults,
    account_place,
    receivers,
    archive,
    master_keys,
    // Here, because no file may be read while the simulation runs.
    ...(await loadCommands()),
    variables,
    operator: rpc.outside('backoffice'),
    operatorWith: (token) => createDoorClients(http, BACKOFFICE_ORIGIN, token),
    choicesOf,
    restore: () => restores.map((putBack) => putBack()),
  }
}

/** Carries the commands of processes, and notes their writes. */
function carryNoted({
  machine,
  activity,
  stores,
}: Pick<World, 'machine' | 'activity' | 'stores'>): CarryCommand {
  return (command, apply) => {
    if (isWrite(command))
      activity.note(machine.current(), 'write', `${command.database}.${command.collection}`)
    return stores.carry(command, apply)
  }
}

async function loadCommands(): Promise<Pick<World, 'sealing_roles' | 'restored_roles'>> {
  return {
    sealing_roles: await loadOperations(SEALING_ROLES),
    // The sandbox is the provider, whose books go on.
    restored_roles: await loadOperations(BACKUP_ORDER.filter((role) => role !== 'sandbox')),
  }
}

/** What carries everything between processes, and between them and the outside. */
function createNetworks(
  { machine, trace, choicesOf }: Pick<World, 'machine' | 'trace' | 'choicesOf'>,
  activity: Activity,
  observers: WorldObservers,
): Pick<World, 'http' | 'rpc' | 'bus' | 'partitions' | 'scanner'> {
  const partitions = createPartitions()
  const scanner = createScanner(machine, choicesOf('scanner'), trace, observers.onCleanScan)
  const http = createHttpNetwork(machine, choicesOf('http'), trace, {
    connect: scanner.connect,
    onRequest: noteRequest(machine, activity, observers),
    partitions,
  })
  const rpc = createRpcNetwork(machine, choicesOf('rpc'), trace, partitions)
  const bus = createSimulatedBus(machine, choicesOf('bus'), trace, partitions, observers.onMessage)
  createBusAttacker(bus, choicesOf('bus attacker'), trace)
  return { http, rpc, bus, partitions, scanner }
}

/** What the network does with each request of a process. */
function noteRequest(
  machine: Machine,
  activity: Activity,
  { onRequest }: WorldObservers,
): (request: WireRequest, origin: string) => void {
  return (request, origin) => {
    activity.note(machine.current(), 'request', kindOfRequest(request))
    const sender = machine.actorOf(machine.current())
    if (sender !== undefined) onRequest(request, sender, origin)
  }
}

function createDatabases(
  size: Pick<ClusterSize, 'has_files' | 'has_backoffice'>,
  onChange: (role: RoleName, collection: string, change: Change) => void,
): ReadonlyMap<RoleName, Database> {
  const roles: readonly RoleName[] = [...ALL_ROLES, ...laterRoles(size)]
  return new Map(
    roles.map((role) => [
      role,
      createDatabase(role, (collection, change) => onChange(role, collection, change)),
    ]),
  )
}

function requireDatabase(databases: ReadonlyMap<RoleName, Database>, role: RoleName): Database {
  const database = databases.get(role)
  if (database === undefined) throw new TypeError(`the role ${role} has no simulated database`)
  return database
}

function replaceSurroundings(
  machine: Machine,
  { http, archive }: Pick<World, 'http' | 'archive'>,
  choices: Choices,
): readonly (() => void)[] {
  return [
    useClock(machine.clock),
    useRandomness(choices.fill),
    useProcessStates(machine.states),
    useNetwork(http),
    useArchiveMedium(archive.medium),
    useCallingThread(),
    useReleases(machine),
  ]
}

/** Makes the updated processes processes of a later release, which writes the next format of the journal (R9). */
function useReleases({ current }: Machine): () => void {
  const { written, read_max } = BATCH_FORMATS
  const define = (of: () => { readonly written: number; readonly read_max: number }): void => {
    const options = { configurable: true, enumerable: true }
    Object.defineProperties(BATCH_FORMATS, {
      written: { ...options, get: () => of().written },
      read_max: { ...options, get: () => of().read_max },
    })
  }
  const present = { written, read_max }
  const next = { written: read_max + 1, read_max: read_max + 1 }
  define(() => (current()?.is_updated ? next : present))
  return () => define(() => present)
}

/** How many processes a cluster has. */
export interface ClusterSize {
  /** The number of processes per role, or of those with all roles. */
  readonly copies: number
  readonly is_combined: boolean
  readonly has_sandbox: boolean
  /** Whether it has processes that keep files. */
  readonly has_files: boolean
  /** Whether it has processes of the back office. */
  readonly has_backoffice: boolean
  /** The days that pass. With them it has short retentions and an archive. */
  readonly pause_days?: number | undefined
}

/** The roles that only some seeds have: the last ones, so that all other processes of a seed have the same clocks. */
function laterRoles({
  has_files,
  has_backoffice,
}: Pick<ClusterSize, 'has_files' | 'has_backoffice'>): readonly RoleName[] {
  return [
    // The back office asks every role what it has kept of an act.
    ...(has_files || has_backoffice ? ([FILES_ROLE] as const) : []),
    ...(has_backoffice ? ([BACKOFFICE_ROLE] as const) : []),
  ]
}

/** Adds the places of a cluster. The sandbox has one process of its own. */
export function addPlaces(world: World, size: ClusterSize): void {
  const { copies, is_combined, has_sandbox } = size
  const { cluster, http } = world
  const choices = world.choicesOf('clocks')
  const all: readonly RoleName[] = [...SIMULATED_ROLES, ...laterRoles(size)]
  const groups: readonly (readonly [name: string, roles: readonly RoleName[]])[] = is_combined
    ? [['all', all]]
    : all.map((role) => [role, [role]])
  const clockError = () => ({ offset_ms: choices.between(-500, 500), rate: 1 + choices.between(-1e-4, 1e-4) })
  for (const [index, [name, roles]] of groups.entries()) {
    for (let copy = 1; copy <= copies; copy += 1) {
      cluster.add(`${name}-${copy}`, `10.0.${index}.${copy}`, roles, clockError())
    }
  }
  if (has_sandbox) cluster.add('sandbox-1', '10.0.9.1', ['sandbox'], clockError())
  http.addBalancer(PUBLIC_ORIGIN, originsOf(cluster, 'gateway', 8080))
  http.addBalancer(CALLBACK_ORIGIN, originsOf(cluster, 'payments', 9093))
  http.addBalancer(ATTACHMENTS_ORIGIN, originsOf(cluster, FILES_ROLE, 9095))
  http.addBalancer(BACKOFFICE_ORIGIN, originsOf(cluster, BACKOFFICE_ROLE, 9096))
  if (has_sandbox) http.addBalancer(SANDBOX_ORIGIN, originsOf(cluster, 'sandbox', 9092))
}

/**
 * Repairs the account that was down, so that what was perhaps sent there can end: a withdrawal with an unknown result
 * waits for its account (P4).
 */
export function repairDownAccount({ cluster, http }: World): void {
  const sandbox = originsOf(cluster, 'sandbox', 9092)
  if (sandbox.length > 0) http.addBalancer(DOWN_ORIGIN, sandbox)
}

function originsOf({ places }: Cluster, role: RoleName, port: number): readonly string[] {
  return places.filter(({ roles }) => roles.includes(role)).map(({ host }) => `http://${host}:${port}`)
}
