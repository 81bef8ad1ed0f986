import { randomHex } from '#lib/base/crypto/random.ts'
import type { Collection, Store, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { ClockGuard } from '../clock-guard.ts'
import { createHeartbeats, createReadings } from '../membership/heartbeats.ts'
import { listMembers, type Member, replaceVersion } from '../membership/membership.ts'
import { deleteUnchanged, upsert } from '../update.ts'
import type { Lease } from './effect.ts'
import { createHeldLeases, type HeldLeases } from './held-leases.ts'
import { createDivision, type SlotAssignment } from './slots.ts'

/**
 * The runs of the processes that share a store. Each lease names the run of its holder, so that a lease is void when its run is dead,
 * long before it ends. A run begins with its process, and ends with it or when another process has declared it dead. That is stored
 * in the document of the heartbeat at the version that did not change, so it is final, the same for all processes, and impossible
 * after the next heartbeat. A process whose run was declared dead goes on under a fresh run, without what it had leased.
 */
export interface Runs {
  /** The present run of this process. */
  readonly run_id: string
  /** What this process has leased in its present run and not ended yet. */
  readonly held: HeldLeases
  /**
   * Whether this process may lease effects, and begin something that leaves it: under a lease, if one is given. It may not when the
   * others could declare its run dead, as after a pause of the process or of its machine, or a failure of the network, until its next
   * heartbeat is confirmed, nor while its clock is not trusted (R8). Under a lease of a run before it never may.
   */
  mayAct(lease?: Lease): boolean
  /** Whether a run was declared dead. The lease of an earlier release names no run. */
  isDead(run_id: string | undefined): boolean
  /** Names the runs that were declared dead. A name that is new means that leases have become void. */
  dead(): readonly string[]
  /** Names the other runs and the present one of this process; the same array until they change. */
  live(): readonly string[]
  /**
   * Makes the function that returns the present slots of this process in due work, such as `payments.money`. The work is divided
   * among the live processes that had room for it at their last heartbeat.
   */
  divide(work: string, hasRoom: () => boolean): () => SlotAssignment
  /**
   * Stops the heartbeats. The others forget the run, unless it has leases that were not ended: then they find it dead, and take over.
   */
  stop(): Promise<void>
}

/**
 * The age of the last own heartbeat that was confirmed, by either clock, at which a process begins nothing any more. The others declare
 * its run dead when they have seen that heartbeat for five seconds, so not before it is 5 s old.
 */
const CONFIRMED_MAX_MS = 3_000

/** How long the heartbeat of a dead run is kept: longer than its leases, so that it is known as dead until they have ended. */
const RUN_KEPT_MS = 120_000

/** The stored heartbeat of a run. The address is its id. */
export type RunDocument = Member<{
  /** Set when another process has declared the run dead. It never has another heartbeat then. */
  readonly is_dead?: true
  /** The due work for which the process had no room. */
  readonly full?: readonly string[]
}>

/** The heartbeats of the processes of a role, and whether this one is the only one. */
export type RunStore = ReturnType<typeof createRunStore>

/** Makes the heartbeats of a role over the collection of `MEMBERS_SPEC` in its store: one document for each run of a process. */
export function createRunStore(
  collection: Collection<RunDocument>,
  role: string,
  { isAlone }: Pick<Store, 'isAlone'>,
) {
  const keyOf = (run_id: string) => ({ role, address: run_id })
  /** What decides whether a run is over must not come from a former primary. */
  const linearizable: typeof collection = {
    ...collection,
    get: (key) => collection.get(key, { linearizable: true }),
  }
  return {
    isAlone,
    /**
     * Writes a heartbeat and returns its version; `undefined` when the run was declared dead. `before` is the version of the last
     * heartbeat of the run, absent for the first one.
     */
    async beat(
      run_id: string,
      state: Pick<RunDocument, 'full' | 'expires_at'>,
      before?: number,
    ): Promise<number | undefined> {
      const run = { ...keyOf(run_id), ...state }
      const replaced = before === undefined ? undefined : await replaceVersion(collection, run, before)
      if (replaced !== undefined) return replaced.version
      // An earlier heartbeat may have been written without an answer. A heartbeat that is gone was dead for so long that it expired.
      const isOver = (current: RunDocument | undefined): boolean =>
        current === undefined ? before !== undefined : current.is_dead === true
      const stored = await upsert(linearizable, keyOf(run_id), (current) =>
        isOver(current) ? undefined : run,
      )
      return stored === undefined || isOver(stored) ? undefined : stored.version
    },
    /** Declares a run dead, unless it has another heartbeat than the given one by now. */
    async declareDead({ version, ...run }: Stored<RunDocument>, expires_at: Date): Promise<void> {
      await replaceVersion(collection, { ...run, expires_at, is_dead: true }, version)
    },
    /** Deletes the heartbeat of a run, unless it was declared dead since. */
    remove: (run_id: string, version: number) => deleteUnchanged(collection, keyOf(run_id), version),
    /** The last heartbeat of each run, by its id. */
    list: () => listMembers(collection, role),
  }
}

/**
 * Starts the first run of this process in a store. It costs one write and one read per second. When this process is alone with
 * embedded files, it declares every earlier run dead at once.
 */
export async function startRuns(
  store: RunStore,
  { store_now_ms, isTrusted }: Pick<ClockGuard, 'store_now_ms' | 'isTrusted'>,
): Promise<Runs> {
  // By the clock of the store: a process with a wrong clock must not let its heartbeat expire.
  const expiresAt = (): Date => new Date(store_now_ms() + RUN_KEPT_MS)
  const held = createHeldLeases()
  const readings = createReadings<Stored<RunDocument>>()
  const full_lanes = createFullLanes((name) => readings.heartbeatOf(name)?.full)
  let run_id = randomHex(12)
  let divide = createDivision(run_id)
  let version: number | undefined
  let is_first_reading = true
  let dead: readonly string[] = []
  let live: readonly string[] = []

  async function beat(): Promise<void> {
    const state = { full: full_lanes.own(), expires_at: expiresAt() }
    const beaten = await store.beat(run_id, state, version)
    if (beaten !== undefined) {
      version = beaten
      return
    }
    const fresh_id = randomHex(12)
    version = await store.beat(fresh_id, state)
    logOwnDeath(run_id)
    run_id = fresh_id
    divide = createDivision(run_id)
    held.clear()
  }

  async function read(counted: 0 | 1): Promise<void> {
    let runs = await store.list()
    readings.add(runs, counted)
    // Asked after the reading: every other heartbeat that it shows is by a process that has ended.
    const is_alone = is_first_reading && store.isAlone()
    const isMissing = ({ address, is_dead }: RunDocument): boolean =>
      address !== run_id && !is_dead && (is_alone || readings.isDead(address))
    const missing = [...runs.values()].filter(isMissing)
    if (missing.length > 0) {
      // One after the other: the own heartbeat has the same connection, and waits for one of them at most.
      for (const run of missing) await store.declareDead(run, expiresAt())
      // Another process may have declared some, and some may have had a heartbeat in between.
      runs = await store.list()
      readings.add(runs, 0)
    }
    is_first_reading = false
    observe([...runs.values()])
  }

  function observe(runs: readonly RunDocument[]): void {
    const before = dead
    dead = runs.filter(({ is_dead }) => is_dead).map(({ address }) => address)
    logDeaths(dead.filter((name) => !before.includes(name)))
    const now_live = runs.filter(({ is_dead }) => !is_dead).map(({ address }) => address)
    if (now_live.join() !== live.join()) live = now_live
  }

  const heartbeats = createHeartbeats({ beat, read })
  await heartbeats.round()
  return {
    get run_id() {
      return run_id
    },
    held,
    mayAct: (lease) =>
      isTrusted() &&
      heartbeats.confirmedAgoMs() < CONFIRMED_MAX_MS &&
      (lease === undefined || lease.run === run_id),
    isDead: (name) => name !== undefined && dead.includes(name),
    dead: () => dead,
    live: () => live,
    divide(work, hasRoom) {
      full_lanes.add(work, hasRoom)
      return () => divide(full_lanes.withRoom(work, live))
    },
    async stop() {
      await heartbeats.stop()
      if (version === undefined || held.hasAny()) return
      await store.remove(run_id, version).catch(logNotDeleted)
    },
  }
}

function logOwnDeath(lease: string): void {
  log.warn(
    { lease },
    'the other processes took this one for dead, because its heartbeat was missing; it goes on without what it had leased',
  )
}

function logNotDeleted(error: unknown): void {
  log.warn({ error }, 'the heartbeat of a run could not be deleted; it expires')
}

function logDeaths(run_ids: readonly string[]): void {
  for (const lease of run_ids)
    log.warn({ lease }, 'a process of this role ended or hangs; the others take over what it has leased')
}

/** The work for which this process has no room, and the others by their heartbeats. */
function createFullLanes(fullOf: (run_id: string) => readonly string[] | undefined) {
  const rooms = new Map<string, () => boolean>()
  return {
    add: (work: string, hasRoom: () => boolean): void => void rooms.set(work, hasRoom),
    own: (): readonly string[] => [...rooms].flatMap(([work, hasRoom]) => (hasRoom() ? [] : [work])),
    /** The runs whose processes have room for some work; all of them when none has. */
    withRoom(work: string, run_ids: readonly string[]): readonly string[] {
      const with_room = run_ids.filter((run_id) => !fullOf(run_id)?.includes(work))
      return with_room.length === 0 ? run_ids : with_room
    },
  }
}
