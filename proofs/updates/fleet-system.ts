import { mkdtemp, readFile, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import type { RoleName } from '#lib/role/role.ts'
import { writeDemo } from '../../scripts/demo.ts'
import { startBalancer } from '../../test/support/balancer.ts'
import { resolveCopies } from '../../test/support/fleet/copies.ts'
import { type Fleet, startFleet } from '../../test/support/fleet/fleet.ts'
import type { Place, Release } from '../../test/support/fleet/place.ts'
import { type Demo, type MerchantClient, merchantClient } from '../../test/support/merchant.ts'
import { type Receiver, startReceiver } from '../../test/support/receiver.ts'
import type { Variables } from '../../test/support/system-settings.ts'
import { type LoadOptions, type SteadyLoad, startSteadyLoad } from './steady-load.ts'

/** A system with several processes per role, with the demonstration data. */
export interface FleetSystem {
  readonly fleet: Fleet
  /** The directory of its data. */
  readonly directory: string
  /** Its processes, without the sandbox: the provider is not updated. */
  readonly places: readonly Place[]
  /** The `base_url` is a load balancer in front of all gateways. */
  demo(): Demo
  /** What processes reported that ended by themselves. */
  readonly unexpected_ends: readonly string[]
  /** Kills all processes and deletes the data, and their logs too unless they are kept. */
  end(keeps_logs: boolean): Promise<void>
}

/** What a test of an update works with. */
export interface UpdateTest {
  readonly system: FleetSystem
  /** Records the callbacks. */
  readonly receiver: Receiver
  /** The merchant of the load, and its available balance before it. */
  readonly alpha: MerchantClient
  readonly opening: number
  /** Starts a load, which ends with the test at the latest. */
  startLoad(options?: LoadOptions): SteadyLoad
}

const BALANCES_COPIES = 3

/** Two processes per role, three of balances. */
const copies = (role: RoleName): number =>
  role === 'sandbox' ? 1 : role === 'balances' ? BALANCES_COPIES : 2

const VARIABLES: Variables = {
  // Longer than clients pause, and than callers of RPCs need to connect to a process that has started again.
  MULTIHUB_DRAIN: '4s',
  MULTIHUB_LOG_LEVEL: 'warn',
}

/** More calls per minute than the default, for the methods that a steady load calls often. */
const RATE_LIMITS = { 'refund.request': 100_000, 'refund.get': 100_000, 'ticket.get': 100_000 }

/**
 * Runs a test on a system of its own, which ends with it. When the test fails, the logs of all processes are kept, because
 * nothing else shows why a request failed; their directory is printed.
 */
export async function withFleetSystem(
  nats_url: string,
  releaseOf: (place: Place) => Release,
  test: (deps: UpdateTest) => Promise<void>,
): Promise<void> {
  const system = await startFleetSystem(nats_url, releaseOf)
  const receiver = await startReceiver()
  const loads: SteadyLoad[] = []
  const startLoad = (options?: LoadOptions): SteadyLoad => {
    const load = startSteadyLoad(system.demo, receiver.url, options)
    loads.push(load)
    return load
  }
  let has_passed = false
  try {
    const alpha = merchantClient(system.demo)
    await test({ system, receiver, alpha, opening: await alpha.available(), startLoad })
    has_passed = true
  } finally {
    await Promise.all(loads.map((load) => load.stop()))
    await receiver.stop()
    await system.end(!has_passed)
    if (!has_passed) process.stderr.write(`the logs of all processes are in ${system.directory}\n`)
  }
}

/** Starts the system on embedded stores that the copies of a role share, behind a load balancer. */
async function startFleetSystem(
  nats_url: string,
  releaseOf: (place: Place) => Release,
): Promise<FleetSystem> {
  resolveCopies()
  const directory = await mkdtemp(join(await chooseParentFolder(), 'multihub-fleet-'))
  const unexpected_ends: string[] = []
  let fleet: Fleet | undefined
  const placesOf = (role: RoleName) => (): readonly Place[] =>
    fleet?.places.filter((place) => place.role === role) ?? []
  const gateways = await startBalancer(placesOf('gateway'), (place) => place.urls()['base_url'])
  const provider_callbacks = await startBalancer(placesOf('payments'), providerCallbackUrl)
  const end = async (keeps_logs: boolean): Promise<void> => {
    await fleet?.end()
    await Promise.all([gateways.stop(), provider_callbacks.stop()])
    const unneeded = keeps_logs ? join(directory, 'data') : directory
    await rm(unneeded, { recursive: true, force: true })
  }
  try {
    const started = await startFleet(
      {
        directory,
        nats_url,
        mongodb_uri: undefined,
        copies,
        releaseOf,
        variables: { ...VARIABLES, MULTIHUB_PROVIDER_URL: provider_callbacks.url },
      },
      { onUnexpectedEnd: (place, text) => void unexpected_ends.push(`${place} ${text}`) },
    )
    fleet = started
    await Promise.all([gateways.untilServed(), provider_callbacks.untilServed()])
    const operator = started.operator.clientsOf('backoffice')
    await writeDemo(directory, { base_url: gateways.url }, started.settings.operator_token, operator)
    const demo: Demo = JSON.parse(await readFile(join(directory, 'demo.json'), 'utf8'))
    const { application_id } = merchantClient(() => demo).credential
    await operator(CredentialService).updateCredential({
      applicationId: `${application_id}`,
      rateLimits: { values: RATE_LIMITS },
    })
    return {
      fleet: started,
      directory,
      places: started.places.filter(({ role }) => role !== 'sandbox'),
      demo: () => ({ ...demo, ...backofficeUrl(started.places) }),
      unexpected_ends,
      end,
    }
  } catch (error) {
    await end(false)
    throw error
  }
}

/** Where a process of payments takes the callbacks of providers. The `provider_url` that it prints is the balancer's. */
function providerCallbackUrl({ variables }: Place): string {
  return `http://${variables['MULTIHUB_HOST']}:${variables['MULTIHUB_PROVIDER_PORT']}`
}

/** Where Linux keeps files in memory, and the bytes that must be free there, far more than a test writes. */
const MEMORY_FOLDER = '/dev/shm'
const MEMORY_MIN_BYTES = 2 ** 31

/**
 * The folder for the data: in memory, where there is one. A disk that other programs use can make a write wait longer than the
 * store's limit, and a request that fails for that says nothing about updates. No process is killed before its writes end.
 */
async function chooseParentFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(MEMORY_FOLDER).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize < MEMORY_MIN_BYTES ? tmpdir() : MEMORY_FOLDER
}

/** The present URL of one process of the back office, for calls of the operator. */
function backofficeUrl(places: readonly Place[]): { readonly backoffice_url: string } {
  const urls = places.flatMap((place) => place.urls()['backoffice_url'] ?? [])
  return { backoffice_url: urls[0] ?? '' }
}

/** The number of a process within its role, counted from 0. */
export function copyOf({ name }: Place): number {
  return Number(name.split('-').at(-1)) - 1
}

/** The processes that are restarted together: one per role, as when all workloads of a cluster get a new release. */
export function wavesOf(places: readonly Place[]): readonly (readonly Place[])[] {
  return Array.from({ length: BALANCES_COPIES }, (_, copy) =>
    places.filter((place) => copyOf(place) === copy),
  )
}

/** Stops a process in order, and starts one of that release in its place. Throws unless the exit code is 0 (R5). */
export async function restart(place: Place, release?: Release): Promise<void> {
  const code = await place.stop()
  if (code !== 0) throw new Error(`${place.name} ended with ${code} on SIGTERM`)
  await place.start(release)
}
