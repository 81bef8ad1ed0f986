import type { Environment } from '#lib/contract/environment.ts'
import type { Command } from '../domain/command.ts'
import type { CommandResult } from '../domain/decide-command.ts'
import { shardOf } from '../domain/shard.ts'
import type { CommandForwarder } from '../forwarding/command-forwarder.ts'
import type { ShardAffinity } from '../forwarding/shard-affinity.ts'
import type { LoadedShards } from '../shards/loaded-shards.ts'

/** How commands reach the process that holds the lease of their shard. */
export interface CommandRouting {
  readonly affinity: ShardAffinity
  readonly forwarder: CommandForwarder
}

/**
 * Decides a command in the process that holds the lease of its shard, or here when there is none or it fails. Without
 * `routing` every command is decided here.
 */
export async function submitCommand(
  shards: LoadedShards,
  routing: CommandRouting | undefined,
  environment: Environment,
  command: Command,
): Promise<CommandResult> {
  const shard = shardOf(command.merchant_id, environment)
  const address = await routing?.affinity.acquireOrFind(shard)
  if (routing && address !== undefined) {
    try {
      return await routing.forwarder.submit(address, shard, command)
    } catch (error) {
      // The other process may have decided the command. Its id makes submitting it again harmless.
      routing.affinity.markUnreachable(shard, error)
    }
  }
  return await decideHere(shards, shard, command)
}

/** Decides a command of a shard in this process. */
export function decideHere(shards: LoadedShards, shard: number, command: Command): Promise<CommandResult> {
  return shards.use(shard, ({ processor }) => processor.submit(command))
}
