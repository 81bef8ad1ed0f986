import { randomHex } from '#lib/base/crypto/random.ts'
import type { Collection, Store } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { createMembers, createMembership, type Member } from '../membership/membership.ts'
import { createHeldLeases, type HeldLeases } from './held-leases.ts'
import { createDivision, type Share } from './slots.ts'

/**
 * The runs of the processes that share a store. A run is the time from a start of a process to its end. Each lease names the run of
 * its holder, so that a lease is void when its run is dead, long before it ends.
 */
export interface Runs {
  /** The run of this process. */
  readonly run_id: string
  /** What this process has leased and not ended yet. */
  readonly held: HeldLeases
  /**
   * Whether this process may begin something that leaves it. It may not when the others could take it for dead, as after a pause of
   * the process or a failure of the network, until its next heartbeat is confirmed.
   */
  mayAct(): boolean
  /** Whether the holder of a lease is dead. The lease of an earlier release names no run. */
  isDead(run_id: string | undefined): boolean
  /** Names what is dead now. A name that is new means that leases may have become void. */
  dead(): readonly string[]
  /**
   * Makes the function that returns the present share of this process in due work, such as `payments.money`. The work is divided
   * among the live processes that had room for it at their last heartbeat.
   */
  divide(work: string, hasRoom: () => boolean): () => Share
  /**
   * Stops the heartbeats. The others forget the run, unless it has leases that were not ended: then they find it dead, and take over.
   */
  stop(): Promise<void>
}

/**
 * The age of the last own heartbeat that was confirmed at which a process begins nothing any more. Another process takes it for dead
 * after five readings at least 1 s apart, so not before that heartbeat is 5 s old.
 */
const CONFIRMED_MAX_MS = 3_000

/** How long the heartbeat of a dead process is kept: longer than its leases, so that it is known as dead until they have ended. */
const RUN_KEPT_MS = 120_000

/** What a heartbeat says besides being alive: the due work for which the process has no room. */
export interface RunState {
  readonly full?: readonly string[]
}

/** The heartbeats of the processes of a role, and whether this one is the only one. */
export type RunStore = ReturnType<typeof createRunStore>

/** Makes the heartbeats of a role over the collection of `MEMBERS_SPEC` in its store: one document for each run of a process. */
export function createRunStore(
  collection: Collection<Member<RunState>>,
  role: string,
  { is_alone }: Pick<Store, 'is_alone'>,
) {
  return { members: createMembers(collection, role, RUN_KEPT_MS), is_alone }
}

/**
 * Starts the run of this process in a store. It costs one write and one read per second. When this process is alone with embedded
 * files, every earlier run is dead at once.
 */
export async function startRuns({ members, is_alone }: RunStore): Promise<Runs> {
  const run_id = randomHex(12)
  const held = createHeldLeases()
  const rooms = new Map<string, () => boolean>()
  const divide = createDivision(run_id)
  let dead: readonly string[] = []
  const membership = createMembership({
    members,
    self_address: run_id,
    isFit: () => true,
    announce: () => ({ full: [...rooms].flatMap(([work, hasRoom]) => (hasRoom() ? [] : [work])) }),
    is_alone,
    onChange() {
      const before = dead
      dead = membership.dead()
      for (const name of dead)
        if (!before.includes(name))
          log.warn(
            { lease: name },
            'a process of this role ended or hangs; the others take over what it has leased',
          )
    },
  })
  await membership.join()
  return {
    run_id,
    held,
    mayAct: () => membership.confirmedAgoMs() < CONFIRMED_MAX_MS,
    isDead: (name) => name !== undefined && membership.isDead(name),
    dead: () => dead,
    divide(work, hasRoom) {
      rooms.set(work, hasRoom)
      const isFull = (name: string): boolean => membership.heartbeatOf(name)?.full?.includes(work) ?? false
      return () => {
        const with_room = membership.live().filter((name) => !isFull(name))
        return divide(with_room.length === 0 ? membership.live() : with_room)
      }
    },
    stop: () => (held.hasAny() ? membership.abandon() : membership.stop()),
  }
}
