import type { Choices } from '../random.ts'
import type { SimulatedProcess } from '../simulated-process.ts'
import type { Database } from './database.ts'
import type { ReadSource } from './memory-collection.ts'
import { isWrite, needsMajority, type StoreCommand } from './store.ts'

/** Servers that are no longer the primaries of their databases and do not know it yet. */
export interface FormerPrimaries {
  /** Makes the present primary of a database a former one for a time, and chooses the processes that still know it. */
  add(database: Database, time_ms: number, processes: readonly SimulatedProcess[]): void
  /** Whether a process reaches no other server of a database. What it writes there is rolled back. */
  isCutOff(database: string, client: SimulatedProcess | undefined): boolean
  /** What a command reads from: `undefined` for the present primary. A write shows its process the new primary. */
  sourceOf(command: StoreCommand, client: SimulatedProcess | undefined): ReadSource | undefined
  /** When the last of them learns that it is no longer the primary. */
  untilMs(): number
}

interface FormerPrimary {
  readonly until_ms: number
  readonly collections: ReadonlyMap<string, ReadSource>
  /** The processes that read from it until they have sent a write to the new primary. */
  readonly readers: Set<SimulatedProcess | undefined>
  readonly cut_off: ReadonlySet<SimulatedProcess | undefined>
}

/** The probability that a fail-over cuts some processes off, and that one of them knows the former primary. */
const HALF = 0.5

/** Makes an empty set. */
export function createFormerPrimaries(nowMs: () => number, choices: Choices): FormerPrimaries {
  const former = new Map<string, FormerPrimary>()
  const primaryOf = (database: string): FormerPrimary | undefined => {
    const primary = former.get(database)
    return primary !== undefined && nowMs() < primary.until_ms ? primary : undefined
  }
  return {
    add(database, time_ms, processes) {
      const behind = processes.filter(() => choices.chance(HALF))
      former.set(database.name, {
        until_ms: nowMs() + time_ms,
        collections: new Map(
          [...database.collections()].map((source) => [source.layout.name, source.snapshot()]),
        ),
        readers: new Set(behind),
        cut_off: new Set(choices.chance(HALF) ? behind.filter(() => choices.chance(HALF)) : []),
      })
    },
    isCutOff: (database, client) => primaryOf(database)?.cut_off.has(client) ?? false,
    sourceOf(command, client) {
      const primary = primaryOf(command.database)
      if (primary === undefined) return undefined
      if (isWrite(command)) primary.readers.delete(client)
      if (needsMajority(command)) return undefined
      const is_behind = primary.cut_off.has(client) || primary.readers.has(client)
      return is_behind ? primary.collections.get(command.collection) : undefined
    },
    untilMs: () => Math.max(0, ...[...former.values()].map(({ until_ms }) => until_ms)),
  }
}
