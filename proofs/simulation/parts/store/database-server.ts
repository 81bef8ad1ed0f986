import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/store/errors.ts'
import type { Partitions } from '../partitions.ts'
import type { Choices } from '../random.ts'
import type { Machine, SimulatedProcess } from '../simulated-process.ts'
import type { Trace } from '../trace.ts'
import type { Database } from './database.ts'
import { createFormerPrimaries } from './former-primaries.ts'
import { type CarryCommand, isWrite, needsMajority, type StoreCommand } from './store.ts'

/** What can go wrong with store commands, as probabilities. */
export interface StoreFaults {
  /** The server refuses the command, so it certainly did not happen. */
  refused: number
  /** The command never arrives. */
  lost_command: number
  /** The command happens, but its result never arrives. */
  lost_result: number
  slow: number
  slow_max_ms: number
}

/** The servers of all databases. */
export interface DatabaseServers {
  readonly faults: StoreFaults
  /** Carries the commands of one database from any process. */
  readonly carry: CarryCommand
  /** The process whose command a server applies at this moment. */
  client(): SimulatedProcess | undefined
  /** No command of a database succeeds for this time. Those on their way may have happened. */
  stop(database: string, time_ms: number): void
  /**
   * Makes another server the primary. For a time some processes still read from the former one, which does not get the
   * new writes; linearizable reads never do. A process knows the new primary once it has sent a write to it. Some
   * cannot reach the new primary at all for that time: none of their writes and linearizable reads succeeds.
   */
  failOver(database: Database, time_ms: number): void
  /** When the last stop ends and no former primary takes itself for the primary any longer. */
  faultUntilMs(): number
}

/** The time limit of a command, as in production. */
const LIMIT_MS = 5_000

/** The result of `apply` at the server. */
type Outcome<T> = { readonly value: T } | { readonly error: unknown }

/** Makes servers without faults. `processes` lists those that could read from a former primary. */
export function createDatabaseServers(
  machine: Machine,
  choices: Choices,
  trace: Trace,
  processes: () => readonly SimulatedProcess[],
  partitions: Pick<Partitions, 'isCut'>,
): DatabaseServers {
  const { scheduler } = machine
  const faults: StoreFaults = { refused: 0, lost_command: 0, lost_result: 0, slow: 0, slow_max_ms: 0 }
  const down_until_ms = new Map<string, number>()
  const former = createFormerPrimaries(scheduler.now_ms, choices)
  let served: SimulatedProcess | undefined

  const delayMs = (): number =>
    choices.chance(faults.slow) ? choices.between(1, faults.slow_max_ms) : choices.between(0.1, 1)
  const isDown = (database: string): boolean => scheduler.now_ms() < (down_until_ms.get(database) ?? 0)
  /** Whether a command reaches a server that can answer it. */
  const isServed = (command: StoreCommand, client: SimulatedProcess | undefined): boolean =>
    former.isCutOff(command.database, client) ? !needsMajority(command) : !isDown(command.database)

  const carry: CarryCommand = (command, apply) => {
    const client = machine.current()
    const { kind, database, collection, subject } = command
    const is_write = isWrite(command)
    const name = `store ${client?.name ?? 'outside'} ${database}.${collection} ${kind} ${subject}`
    const sent_ms = scheduler.now_ms()
    return new Promise((resolve, reject) => {
      const limit_ms = sent_ms + LIMIT_MS
      const fail = (delay_ms: number, error: Error): void =>
        void machine.schedule(client, Math.min(scheduler.now_ms() + delay_ms, limit_ms), () => {
          trace.add(`${name}: ${error.name}`)
          reject(error)
        })
      const giveUp = (delay_ms: number): void =>
        fail(delay_ms, is_write ? new Ambiguous('the write may have happened') : new Unavailable('no result'))
      /** The client gets no result: it sees a broken connection, or waits for its time limit. */
      const lose = (): void => giveUp(choices.chance(0.5) ? delayMs() : LIMIT_MS)
      const is_cut_off = former.isCutOff(database, client)
      if ((!is_cut_off && isDown(database)) || choices.chance(faults.refused)) {
        return fail(delayMs(), new Unavailable('the server refused the command'))
      }
      if (choices.chance(faults.lost_command)) return lose()
      const arrival_ms = sent_ms + delayMs()
      // The client does not wait any longer, but the command is on its way and is applied.
      const is_given_up = arrival_ms > limit_ms
      if (is_given_up) giveUp(LIMIT_MS)
      scheduler.at(
        arrival_ms,
        () => {
          const is_cut = partitions.isCut(client, `store ${database}`)
          if (is_cut || !isServed(command, client)) return is_given_up ? undefined : lose()
          served = client
          const outcome = outcomeOf(() => apply(former.sourceOf(command, client)))
          if (is_given_up) return trace.add(`${name}: arrives late`)
          const result_ms = scheduler.now_ms() + delayMs()
          const is_lost = choices.chance(faults.lost_result) || partitions.isCut(`store ${database}`, client)
          if (is_lost || result_ms > limit_ms) return lose()
          machine.schedule(client, result_ms, () => {
            if ('error' in outcome) {
              trace.add(`${name}: ${outcome.error instanceof Error ? outcome.error.name : 'failed'}`)
              reject(outcome.error)
            } else {
              if (is_write) trace.add(`${name}: ok`)
              resolve(outcome.value)
            }
          })
        },
        true,
      )
    })
  }

  return {
    faults,
    carry,
    client: () => served,
    stop(database, time_ms) {
      trace.add(`store ${database} stops for ${time_ms} ms`)
      down_until_ms.set(database, scheduler.now_ms() + time_ms)
    },
    failOver(database, time_ms) {
      trace.add(`store ${database.name} fails over, with a former primary for ${time_ms} ms`)
      former.add(database, time_ms, processes())
      // No server is the primary until the others have elected one.
      down_until_ms.set(database.name, scheduler.now_ms() + choices.between(0, Math.min(3_000, time_ms)))
    },
    faultUntilMs: () => Math.max(former.untilMs(), ...down_until_ms.values()),
  }
}

function outcomeOf<T>(work: () => T): Outcome<T> {
  try {
    return { value: work() }
  } catch (error) {
    return { error }
  }
}
