import type { Actor, SimulatedProcess } from '../parts/simulated-process.ts'

/** Judges who takes whom for dead, by the heartbeats that the servers have stored. */
export interface RunWatch {
  /** Notes a heartbeat of a process in a database. */
  onHeartbeat(database: string, writer: Actor): void
  /** Whether a process may take another one for dead, which it may do for a while after it has found that. */
  mayTakeOver(database: string, taker: Actor, holder: SimulatedProcess): boolean
  /** Whether the others cannot take a process for dead yet. */
  mayAct(database: string, actor: Actor): boolean
}

/** The readings after which a process is dead. Each follows a heartbeat of the reader. */
const READINGS = 5
/** From the last of these readings to the arrival of the write that takes over, also over a slow store. */
const TAKEOVER_MS = 20_000
/** The age of a heartbeat up to which its process acts, and the time between the last look at it and the act. */
const ACTS_MS = 3_000 + 500

interface Life {
  beaten_at_ms: number
  /** The heartbeats of each other process since the last one of this process. */
  readonly others: Map<SimulatedProcess, number>
  /** When each other process found this one dead. */
  readonly found_dead_ms: Map<SimulatedProcess, number>
}

/** Makes the watch of one simulation. */
export function createRunWatch(): RunWatch {
  const databases = new Map<string, Map<SimulatedProcess, Life>>()
  return {
    onHeartbeat(database, { process, elapsed_ms }) {
      const lives = databases.get(database) ?? new Map<SimulatedProcess, Life>()
      databases.set(database, lives)
      for (const [other, { others, found_dead_ms }] of lives) {
        if (other === process) continue
        const readings = (others.get(process) ?? 0) + 1
        others.set(process, readings)
        if (readings >= READINGS) found_dead_ms.set(process, elapsed_ms)
      }
      const found_dead_ms = lives.get(process)?.found_dead_ms ?? new Map()
      lives.set(process, { beaten_at_ms: elapsed_ms, others: new Map(), found_dead_ms })
    },
    mayTakeOver(database, { process, elapsed_ms }, holder) {
      const found_ms = databases.get(database)?.get(holder)?.found_dead_ms.get(process)
      return found_ms !== undefined && elapsed_ms - found_ms <= TAKEOVER_MS
    },
    mayAct(database, { process, elapsed_ms }) {
      const life = databases.get(database)?.get(process)
      return life !== undefined && elapsed_ms - life.beaten_at_ms <= ACTS_MS
    },
  }
}
