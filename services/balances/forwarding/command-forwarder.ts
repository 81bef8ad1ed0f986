import { withoutDeadline } from '#lib/base/context.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import type { Command } from '../domain/command.ts'
import type { CommandResult } from '../domain/decide-command.ts'
import { BATCH_ENTRIES_MAX, WAITING_COMMANDS_MAX } from '../limits.ts'

/**
 * The result of a forwarded command, or why the other process could not decide it now. `archive_unavailable`: the process is well, but
 * the id has an entry in an archive that it cannot read.
 */
export type ForwardedResult = CommandResult | 'unavailable' | 'archive_unavailable'

/**
 * Sends commands of one shard to the balances process at an address. The results are in the order of the commands.
 * Throws when the process cannot be reached.
 */
export type ForwardCommands = (
  address: string,
  shard: number,
  commands: readonly Command[],
) => Promise<ForwardedResult[]>

/** Forwards single commands, gathered into batches. */
export type CommandForwarder = ReturnType<typeof createCommandForwarder>

interface PendingCommand {
  readonly command: Command
  readonly resolve: (result: CommandResult) => void
  readonly reject: (error: unknown) => void
}

/** The commands of one shard that wait to be sent to one address, and the number of calls in progress for them. */
interface ForwardQueue {
  waiting: PendingCommand[]
  calls: number
}

/** Most calls in progress per shard and address. */
const CALLS_MAX = 4

/**
 * Creates a forwarder. While fewer than `CALLS_MAX` calls are in progress, a command is sent at once; otherwise the
 * waiting commands go together in the next call.
 */
export function createCommandForwarder(forward: ForwardCommands) {
  const queues = new Map<string, ForwardQueue>()

  async function sendBatch(address: string, shard: number, queue: ForwardQueue): Promise<void> {
    const batch = queue.waiting.splice(0, BATCH_ENTRIES_MAX)
    try {
      const commands = batch.map(({ command }) => command)
      const results = await forward(address, shard, commands)
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index]
        if (result === 'archive_unavailable')
          reject(new ArchiveUnavailable('of a batch', `${address} has no access`))
        else if (result === undefined || result === 'unavailable')
          reject(new Unavailable('the process that owns the shard could not decide the command'))
        else resolve(result)
      }
    } catch (error) {
      // What waits was not sent. Its callers can turn to another process now, and not only after one more time limit.
      for (const { reject } of [...batch, ...queue.waiting.splice(0)]) reject(error)
    }
  }

  async function drain(key: string, address: string, shard: number, queue: ForwardQueue): Promise<void> {
    if (queue.calls >= CALLS_MAX) return
    queue.calls += 1
    while (queue.waiting.length > 0) await sendBatch(address, shard, queue)
    queue.calls -= 1
    if (queue.calls === 0) queues.delete(key)
  }

  return {
    /** Throws when the command got no result. It may have been decided all the same. */
    async submit(address: string, shard: number, command: Command): Promise<CommandResult> {
      const key = `${shard} ${address}`
      const queue = queues.get(key) ?? { waiting: [], calls: 0 }
      queues.set(key, queue)
      if (queue.waiting.length >= WAITING_COMMANDS_MAX)
        throw new Unavailable('too many commands wait to be forwarded; try again later')
      const { promise, resolve, reject } = Promise.withResolvers<CommandResult>()
      queue.waiting.push({ command, resolve, reject })
      queueMicrotask(() => void withoutDeadline(() => drain(key, address, shard, queue)))
      return await promise
    },
  }
}
