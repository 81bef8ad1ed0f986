import type { Actor, SimulatedProcess } from '../parts/simulated-process.ts'
import type { Change } from '../parts/store/memory-collection.ts'

/** Judges who declares which run dead, by the heartbeats that the servers have stored. */
export interface RunWatch {
  /** Judges the change of a heartbeat in a database. */
  onHeartbeat(database: string, change: Change, writer: Actor): Iterable<string>
  /** Whether a run was declared dead, so that every process may end its leases. */
  isDead(run: string | undefined): boolean
  /** Whether the others cannot declare the present run of a process dead yet. */
  mayAct(database: string, actor: Actor): boolean
}

/** The readings after which a run is dead. Each follows a heartbeat of the reader. */
const READINGS = 5
/** The least age of a heartbeat at which its run is declared dead. */
const DEAD_AFTER_MS = 5_000
/** How much faster the clock of a reader may be. */
const CLOCK_RATE_MAX = 1.001
/** The age of a heartbeat up to which its process acts, and the time between the last look at it and the act. */
const ACTS_MS = 3_000 + 500

interface Life {
  readonly process: SimulatedProcess
  readonly beaten_at_ms: number
  /** The heartbeats of each process under other runs since the last one of this run. */
  readonly others: Map<SimulatedProcess, number>
}

/** Makes the watch of one simulation. */
export function createRunWatch(): RunWatch {
  const databases = new Map<string, Map<string, Life>>()
  /** The ids of runs are random, so those of all databases are different. */
  const dead = new Set<string>()
  const livesOf = (database: string): Map<string, Life> => {
    const lives = databases.get(database) ?? new Map<string, Life>()
    databases.set(database, lives)
    return lives
  }
  return {
    *onHeartbeat(database, { before, after }, { process, elapsed_ms }) {
      const lives = livesOf(database)
      const run = after?.['address']
      if (typeof run !== 'string') return
      const life = lives.get(run)
      if (before?.['is_dead'] === true && after?.['is_dead'] !== true)
        yield `${process.name} wrote a heartbeat of the run ${run}, which was declared dead`
      if (after?.['is_dead'] === true) {
        dead.add(run)
        // Of a run from before a restore, no heartbeat was seen.
        if (life === undefined) return
        const age_ms = elapsed_ms - life.beaten_at_ms
        if ((life.others.get(process) ?? 0) < READINGS || age_ms * CLOCK_RATE_MAX < DEAD_AFTER_MS)
          yield `${process.name} declared the run ${run} dead ${Math.round(age_ms)} ms after its heartbeat`
        return
      }
      for (const [other, { others }] of lives)
        if (other !== run) others.set(process, (others.get(process) ?? 0) + 1)
      lives.set(run, { process, beaten_at_ms: elapsed_ms, others: new Map() })
    },
    isDead: (run) => run !== undefined && dead.has(run),
    mayAct: (database, { process, elapsed_ms }) =>
      [...livesOf(database)].some(
        ([run, life]) =>
          life.process === process && !dead.has(run) && elapsed_ms - life.beaten_at_ms <= ACTS_MS,
      ),
  }
}
