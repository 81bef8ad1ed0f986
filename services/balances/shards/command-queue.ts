import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { clock } from '#lib/platform/time.ts'
import type { Command } from '../domain/command.ts'
import type { CommandResult } from '../domain/decide-command.ts'
import { BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, COMMAND_WAIT_MAX_MS, WAITING_COMMANDS_MAX } from '../limits.ts'

interface PendingAnswer<T> {
  readonly answer: (value: T) => void
  readonly fail: (error: unknown) => void
}

interface PendingCommand extends PendingAnswer<CommandResult> {
  readonly command: Command
  readonly size_bytes: number
  readonly since_ms: number
}

/** What one cycle of a shard's log answers together. */
export interface QueuedBatch {
  readonly commands: readonly { readonly command: Command }[]
  /** Answers the commands in their order, and the readers. */
  answer(outcomes: readonly CommandResult[]): void
  fail(error: unknown): void
  /** Whether something in it has waited longer than anything may. */
  isLate(): boolean
}

/** What waits for a shard's log: commands in the order of their coming, and readers of its state. */
export interface CommandQueue {
  size(): number
  addCommand(command: Command): Promise<CommandResult>
  /** Resolves when the state was proven to be the newest. */
  addReader(): Promise<void>
  /** Takes the commands of the next batch and every reader. */
  take(): QueuedBatch
  failAll(error: unknown): void
}

/** An empty queue. It takes a limited number: beyond it `addCommand` and `addReader` throw `Unavailable`. */
export function createCommandQueue(): CommandQueue {
  let commands: PendingCommand[] = []
  let readers: PendingAnswer<void>[] = []

  function admit(): void {
    if (commands.length + readers.length >= WAITING_COMMANDS_MAX)
      throw new Unavailable('too much waits for the ledger')
  }

  return {
    size: () => commands.length + readers.length,
    async addCommand(command) {
      admit()
      const { promise, resolve: answer, reject: fail } = Promise.withResolvers<CommandResult>()
      commands.push({ command, size_bytes: sizeOf(command), since_ms: clock.monotonic_ms(), answer, fail })
      return await promise
    },
    async addReader() {
      admit()
      const { promise, resolve: answer, reject: fail } = Promise.withResolvers<void>()
      readers.push({ answer, fail })
      await promise
    },
    take() {
      const count = fitting(commands)
      const taken = commands.slice(0, count)
      commands = commands.slice(count)
      const reading = readers
      readers = []
      return workOf(taken, reading)
    },
    failAll(error) {
      const all = [...commands, ...readers]
      commands = []
      readers = []
      for (const { fail } of all) fail(error)
    },
  }
}

function workOf(commands: readonly PendingCommand[], readers: readonly PendingAnswer<void>[]): QueuedBatch {
  return {
    commands,
    answer(outcomes) {
      for (const [at, outcome] of outcomes.entries()) commands[at]?.answer(outcome)
      for (const { answer } of readers) answer()
    },
    fail(error) {
      for (const { fail } of [...commands, ...readers]) fail(error)
    },
    isLate: () => commands.some(({ since_ms }) => clock.monotonic_ms() - since_ms > COMMAND_WAIT_MAX_MS),
  }
}

/** How many of the first commands fit into one batch: at least one. */
function fitting(commands: readonly PendingCommand[]): number {
  let count = 0
  let size_bytes = 0
  for (const command of commands) {
    size_bytes += command.size_bytes
    if (count === BATCH_ENTRIES_MAX || (count > 0 && size_bytes > BATCH_BYTES_MAX)) break
    count += 1
  }
  return count
}

/** An upper bound of what the entry's texts take in UTF-8; what else an entry holds has a fixed size. */
function sizeOf(command: Command): number {
  const payment_id = 'payment_id' in command ? (command.payment_id ?? '') : ''
  const { id, merchant_id, reason } = command
  return 200 + 3 * (2 * id.length + merchant_id.length + reason.length + payment_id.length)
}
