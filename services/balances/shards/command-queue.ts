import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { histogram, level } from '#lib/telemetry/metrics.ts'
import type { Command } from '../domain/command.ts'
import type { CommandResult } from '../domain/decide-command.ts'
import { BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, COMMAND_WAIT_MAX_MS, WAITING_COMMANDS_MAX } from '../limits.ts'

const commands_waiting = level(
  'multihub_ledger_commands_waiting',
  'Commands of the ledger that this process has accepted and not committed.',
).of({})
const wait_seconds = histogram(
  'multihub_ledger_command_seconds',
  'Time from the arrival of the first command of a batch until the batch was committed or failed: the lag of the journal.',
)

interface Pending<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

interface PendingCommand extends Pending<CommandResult> {
  readonly command: Command
  readonly size_bytes: number
  readonly queued_at_ms: number
}

/** The commands of one batch and the reads that are answered together with it. */
export type QueuedBatch = ReturnType<typeof createQueuedBatch>

/** The work that waits for a shard: commands in the order of their arrival, and reads of its state. */
export type CommandQueue = ReturnType<typeof createCommandQueue>

/**
 * Creates an empty queue. When it is full, `addCommand` and `addRead` throw `Unavailable`. It is not like other gathering
 * of work into batches: the processor takes a batch when the commit before it has ended, with the reads that must see that
 * commit, and may decide it several times before it answers.
 */
export function createCommandQueue() {
  let commands: PendingCommand[] = []
  let reads: Pending<void>[] = []

  function assertRoom(): void {
    if (commands.length + reads.length >= WAITING_COMMANDS_MAX)
      throw new Unavailable('the queue of the ledger shard is full; try again later')
  }

  return {
    size: (): number => commands.length + reads.length,
    /** Resolves with the result of the command once its batch is committed. */
    async addCommand(command: Command): Promise<CommandResult> {
      assertRoom()
      const { promise, resolve, reject } = Promise.withResolvers<CommandResult>()
      const size_bytes = sizeBoundOf(command)
      commands.push({ command, size_bytes, queued_at_ms: clock.monotonic_ms(), resolve, reject })
      commands_waiting.value += 1
      try {
        return await promise
      } finally {
        commands_waiting.value -= 1
      }
    },
    /** Resolves when the state contains everything that was committed before the call. */
    async addRead(): Promise<void> {
      assertRoom()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      reads.push({ resolve, reject })
      await promise
    },
    /** Removes the commands of the next batch and every read from the queue. */
    takeBatch(): QueuedBatch {
      const count = batchLength(commands)
      const batch = createQueuedBatch(commands.slice(0, count), reads)
      commands = commands.slice(count)
      reads = []
      return batch
    },
    rejectAll(error: unknown): void {
      const all = [...commands, ...reads]
      observeWait(commands)
      commands = []
      reads = []
      for (const { reject } of all) reject(error)
    },
  }
}

function createQueuedBatch(taken: readonly PendingCommand[], reads: readonly Pending<void>[]) {
  let commands = taken
  return {
    get commands(): readonly Command[] {
      return commands.map(({ command }) => command)
    },
    /** Resolves the commands with `results`, which are in the order of the commands, and the reads. A result can be an error. */
    resolve(results: readonly (CommandResult | Error)[]): void {
      observeWait(commands)
      for (const [index, result] of results.entries()) {
        if (result instanceof Error) commands[index]?.reject(result)
        else commands[index]?.resolve(result)
      }
      for (const { resolve } of reads) resolve()
    },
    reject(error: unknown): void {
      observeWait(commands)
      for (const { reject } of [...commands, ...reads]) reject(error)
    },
    /** Fails the commands and removes them. The reads stay. */
    rejectCommands(error: unknown): void {
      observeWait(commands)
      for (const { reject } of commands) reject(error)
      commands = []
    },
    /** Whether a command in it has waited longer than `COMMAND_WAIT_MAX_MS`. */
    isOverdue: (): boolean =>
      commands.some(({ queued_at_ms }) => clock.monotonic_ms() - queued_at_ms > COMMAND_WAIT_MAX_MS),
  }
}

/** Measures how long the first of these commands has waited, if there are any. */
function observeWait([first]: readonly PendingCommand[]): void {
  if (first) wait_seconds.observe({}, (clock.monotonic_ms() - first.queued_at_ms) / 1_000)
}

/** The number of commands, from the first, that fit into one batch. The first one always fits. */
function batchLength(commands: readonly PendingCommand[]): number {
  let count = 0
  let size_bytes = 0
  for (const command of commands) {
    size_bytes += command.size_bytes
    if (count === BATCH_ENTRIES_MAX || (count > 0 && size_bytes > BATCH_BYTES_MAX)) break
    count += 1
  }
  return count
}

/**
 * An upper bound of the stored size: 3 bytes of UTF-8 per UTF-16 unit of the texts, as often as the journal stores them
 * (also in its indexed lists), and 400 bytes for the fields of fixed size.
 */
function sizeBoundOf(command: Command): number {
  const { id, merchant_id, payment_id = '', reason } = command
  return 400 + 3 * (2 * id.length + 4 * merchant_id.length + reason.length + 2 * payment_id.length)
}
