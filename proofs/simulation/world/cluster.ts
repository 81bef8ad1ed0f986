import type { Keys } from '#lib/base/crypto/keys.ts'
import { every, sleep, withTimeout } from '#lib/base/time.ts'
import { createClockGuard } from '#lib/patterns/clock-guard.ts'
import type { Role, RoleContext, RoleName, RunningRole } from '#lib/role/role.ts'
import { createArchiveReader } from '#lib/store/archive/archive-reader.ts'
import { withArchive } from '#lib/store/archive/archived-collections.ts'
import { log } from '#lib/telemetry/log.ts'
import type { SimulatedBus } from '../parts/bus.ts'
import type { HttpNetwork } from '../parts/http/http-network.ts'
import type { RpcNetwork, RpcPort } from '../parts/rpc/rpc-network.ts'
import {
  type ClockError,
  createProcess,
  type Machine,
  type SimulatedProcess,
} from '../parts/simulated-process.ts'
import type { Database } from '../parts/store/database.ts'
import { type CarryCommand, openSimulatedStore } from '../parts/store/store.ts'
import type { Trace } from '../parts/trace.ts'
import { ARCHIVE_DIRECTORY } from './archive.ts'

/** What processes run on. */
export interface ClusterDeps {
  readonly machine: Machine
  readonly trace: Trace
  readonly rpc: RpcNetwork
  readonly http: HttpNetwork
  readonly bus: SimulatedBus
  readonly carry: CarryCommand
  readonly databaseOf: (role: RoleName) => Database
  /** Whether processes read an archive. */
  readonly has_archive: boolean
  /** The settings of a process that starts now. */
  readonly variables: () => Readonly<Record<string, string>>
  /** The master keys of a process that starts now. */
  readonly keys: () => Keys
  readonly roles: ReadonlyMap<RoleName, Role>
  /** Carries the streams of a process to the role that takes them. */
  readonly streamsOf: NonNullable<RoleContext['streamsOf']>
}

/** One place in which a process runs. After its end the next process with the same roles and address takes its place. */
export interface Place {
  readonly name: string
  readonly host: string
  readonly roles: readonly RoleName[]
  /** The error of the clock of the machine on which it runs. */
  readonly clock_error: ClockError
  /** Whether its next process runs the next release. */
  is_updated: boolean
  process: SimulatedProcess | undefined
  /** Stops it in order; set once it serves. */
  stop: (() => Promise<void>) | undefined
}

/** Starts, stops, kills and pauses processes. */
export interface Cluster {
  readonly places: readonly Place[]
  add(name: string, host: string, roles: readonly RoleName[], clock_error: ClockError): Place
  /** Starts the process of a place, and starts it again whenever its start fails. Resolves when it serves. */
  start(place: Place): Promise<void>
  kill(place: Place): void
  /** Stops in order, and kills after `limit_ms`. */
  stop(place: Place, limit_ms: number): Promise<void>
  pause(place: Place, time_ms: number): void
  /** Pauses the process of a place together with its machine, whose monotonic clock and timers stand still meanwhile. */
  suspend(place: Place, time_ms: number): void
  /** Kills all processes but those of the sandbox, and starts none until the returned function is called. */
  shut(): () => Promise<void>
}

const CHECK_INTERVAL_MS = 1_000

const IDLE = { is_updated: false, process: undefined, stop: undefined } as const

/** Makes a cluster without processes. */
export function createCluster(deps: ClusterDeps): Cluster {
  const { machine, trace, rpc, http } = deps
  const places: Place[] = []
  let generation = 0
  let opened: Promise<void> = Promise.resolve()

  async function startOnce(place: Place): Promise<void> {
    generation += 1
    const process = createProcess(`${place.name}#${generation}`, place.clock_error, place.is_updated)
    place.process = process
    trace.add(`${process.name} starts`)
    const port = rpc.open(process, `${place.name}:9090`)
    process.onEnd = () => {
      port.close()
      http.closeServersOf(process)
    }
    const stop = await machine.runIn(process, () => startRoles(deps, place, process, port))
    if (!process.is_alive) return
    trace.add(`${process.name} serves`)
    place.stop = stop
  }

  const cluster: Cluster = {
    places,
    add(name, host, roles, clock_error) {
      const place: Place = { name, host, roles, clock_error, ...IDLE }
      places.push(place)
      return place
    },
    async start(place) {
      for (;;) {
        await opened
        // Whoever waited at the same time may be starting it.
        if (place.stop !== undefined) return
        if (place.process !== undefined) {
          await sleep(100)
          continue
        }
        // A start that hangs, or whose process was killed, never ends.
        const started = await withTimeout(
          startOnce(place).then(
            () => true,
            (error: unknown) => {
              log.warn({ error, part: place.name }, 'the simulated process did not start')
              return false
            },
          ),
          30_000,
        )
        if (started === true && place.stop !== undefined) return
        end(place)
        await sleep(1_000)
      }
    },
    kill: (place) => killPlace(trace, place),
    shut() {
      const gate = Promise.withResolvers<void>()
      opened = gate.promise
      const shut = places.filter(({ roles }) => !roles.includes('sandbox'))
      for (const place of shut) killPlace(trace, place)
      return async () => {
        gate.resolve()
        await Promise.all(shut.map((place) => cluster.start(place)))
      }
    },
    async stop(place, limit_ms) {
      const { process, stop } = place
      if (process === undefined || stop === undefined) return
      trace.add(`${process.name} stops`)
      await withTimeout(
        machine.runIn(process, stop).catch((error: unknown) => {
          log.error({ error, part: place.name }, 'the simulated process did not stop')
        }),
        limit_ms,
      )
      if (place.process !== process) return
      trace.add(`${process.name} has stopped`)
      end(place)
    },
    pause: (place, time_ms) => pausePlace(deps, place, time_ms),
    suspend: (place, time_ms) => suspendPlace(deps, place, time_ms),
  }
  return cluster
}

/** Ends the process of a place: its timers, its results and its connections are gone. */
function end(place: Place): void {
  const { process } = place
  place.process = undefined
  place.stop = undefined
  if (process === undefined) return
  process.is_alive = false
  process.onEnd()
}

/** Kills the process of a place. */
function killPlace(trace: Trace, place: Place): void {
  if (place.process === undefined) return
  trace.add(`${place.process.name} is killed`)
  end(place)
}

/** Stops the process of a place for a time, as by SIGSTOP. */
function pausePlace({ machine, trace }: ClusterDeps, place: Place, time_ms: number): void {
  if (place.process === undefined) return
  trace.add(`${place.process.name} is paused for ${Math.round(time_ms)} ms`)
  // A second pause does not shorten the first one, whose end its timers wait for.
  const until_ms = machine.scheduler.now_ms() + time_ms
  place.process.paused_until_ms = Math.max(place.process.paused_until_ms, until_ms)
}

/** Suspends the machine of a place for a time. While its process is paused, nothing happens. */
function suspendPlace(deps: ClusterDeps, place: Place, time_ms: number): void {
  const { process } = place
  if (process === undefined || process.paused_until_ms > deps.machine.scheduler.now_ms()) return
  process.suspended_ms += time_ms
  pausePlace(deps, place, time_ms)
}

/** Starts the roles of a place as `app/roles.ts` does in a real process. Returns how to stop them. */
async function startRoles(
  deps: ClusterDeps,
  place: Place,
  process: SimulatedProcess,
  port: RpcPort,
): Promise<() => Promise<void>> {
  const draining = new AbortController()
  const stopping = new AbortController()
  const bus = deps.bus.connect(process)
  const clock_guard = createClockGuard()
  const stops: (() => Promise<void> | void)[] = [
    () => clock_guard.stop(),
    () => port.close(),
    () => bus.close(),
  ]
  const archive_reader = deps.has_archive ? createArchiveReader(ARCHIVE_DIRECTORY) : undefined
  const checks: (() => Promise<void>)[] = [async () => clock_guard.assertTrusted()]
  const running: RunningRole[] = []
  const variables = {
    ...deps.variables(),
    MULTIHUB_HOST: place.host,
    MULTIHUB_BALANCES_SELF_ADDRESS: port.address,
  }
  for (const name of place.roles) {
    const role = deps.roles.get(name)
    if (role === undefined) throw new TypeError(`the role ${name} is not simulated`)
    const context: RoleContext = {
      variables,
      clientOf: port.clientsOf(name as Exclude<RoleName, 'sandbox'>),
      clientAt: (address, service) => port.clientsAt(name as Exclude<RoleName, 'sandbox'>, address)(service),
      bus,
      streamsOf: deps.streamsOf,
      keys: deps.keys(),
      clock_guard,
      draining: draining.signal,
      stopping: stopping.signal,
      async openStore() {
        const readServerClock = (): Date => new Date(deps.machine.now_ms())
        const store = openSimulatedStore(deps.databaseOf(name), deps.carry, readServerClock)
        stops.push(() => store.close())
        await clock_guard.start(() => store.readClock())
        return archive_reader ? withArchive(store, archive_reader) : store
      },
    }
    const started: RunningRole = await role.start(context)
    stops.push(() => started.stop())
    port.add(started.services)
    await started.open?.()
    running.push(started)
    if (started.check !== undefined) checks.push(started.check)
  }
  await Promise.all(running.map((started) => started.onServing?.()))
  const check = async (): Promise<void> => {
    const results = await Promise.allSettled(checks.map((one) => one()))
    port.setReady(!draining.signal.aborted && results.every(({ status }) => status === 'fulfilled'))
  }
  await check()
  const timer = every(CHECK_INTERVAL_MS, check, (error) => log.error({ error }, 'readiness check failed'))
  return async () => {
    draining.abort()
    port.setReady(false)
    timer.cancel()
    await sleep(100)
    stopping.abort()
    for (const stop of stops.toReversed()) await stop()
  }
}
