import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { withoutDeadline } from '#lib/platform/context.ts'
import type { Command } from '../domain/command.ts'
import type { CommandResult } from '../domain/decide-command.ts'
import { BATCH_ENTRIES_MAX, WAITING_COMMANDS_MAX } from '../limits.ts'

/** What another process answers to a command: its outcome, or that it could not decide it now. */
export type ForwardedResult = CommandResult | 'unavailable'

/** Another balances process. Answers in the order of the commands; throws when it cannot be reached. */
export type ForwardCommands = (
  address: string,
  shard: number,
  commands: readonly Command[],
) => Promise<ForwardedResult[]>

/** Hands commands to other processes. */
export interface CommandForwarder {
  /** Throws whatever kept the command from being answered: it may have been decided or not. */
  submit(address: string, shard: number, command: Command): Promise<CommandResult>
}

interface PendingCommand {
  readonly command: Command
  readonly answer: (outcome: CommandResult) => void
  readonly fail: (error: unknown) => void
}

interface ForwardQueue {
  waiting: PendingCommand[]
  calls: number
}

const CALLS_MAX = 4

/** Gathers commands like a shard's log does: at once when few calls are under way, else together with the next. */
export function createCommandForwarder(peer: ForwardCommands): CommandForwarder {
  const lanes = new Map<string, ForwardQueue>()

  async function send(address: string, shard: number, lane: ForwardQueue): Promise<void> {
    const batch = lane.waiting.splice(0, BATCH_ENTRIES_MAX)
    try {
      const commands = batch.map(({ command }) => command)
      const outcomes = await peer(address, shard, commands)
      for (const [at, { answer, fail }] of batch.entries()) {
        const outcome = outcomes[at]
        if (outcome === undefined || outcome === 'unavailable')
          fail(new Unavailable('the preferred process is unable'))
        else answer(outcome)
      }
    } catch (error) {
      for (const { fail } of batch) fail(error)
    }
  }

  async function drain(key: string, address: string, shard: number, lane: ForwardQueue): Promise<void> {
    if (lane.calls >= CALLS_MAX) return
    lane.calls += 1
    while (lane.waiting.length > 0) await send(address, shard, lane)
    lane.calls -= 1
    if (lane.calls === 0) lanes.delete(key)
  }

  return {
    async submit(address, shard, command) {
      const key = `${shard} ${address}`
      const lane = lanes.get(key) ?? { waiting: [], calls: 0 }
      lanes.set(key, lane)
      if (lane.waiting.length >= WAITING_COMMANDS_MAX)
        throw new Unavailable('too many commands wait to be forwarded')
      const { promise, resolve: answer, reject: fail } = Promise.withResolvers<CommandResult>()
      lane.waiting.push({ command, answer, fail })
      queueMicrotask(() => void withoutDeadline(() => drain(key, address, shard, lane)))
      return await promise
    },
  }
}
