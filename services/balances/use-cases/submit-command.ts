import type { Environment } from '#lib/contract/environment.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Command } from '../domain/command.ts'
import type { CommandResult } from '../domain/decide-command.ts'
import { NewerBatchFormat } from '../domain/hash-chain.ts'
import { shardOf } from '../domain/shard.ts'
import { ShardStopped } from '../domain/shard-stop.ts'
import type { CommandForwarder, ForwardedResult } from '../forwarding/command-forwarder.ts'
import type { ShardPlacement } from '../forwarding/shard-placement.ts'
import type { LoadedShards } from '../shards/loaded-shards.ts'

/** How commands reach the process that owns their shard. */
export interface CommandRouting {
  readonly placement: ShardPlacement
  readonly forwarder: CommandForwarder
}

/** Most processes that one command is forwarded to, one after the other. It bounds the time until it is decided here. */
const FORWARDS_MAX = 2

/**
 * Decides a command in the process that owns its shard, or here when that fails. Without `routing` every command is
 * decided here. Throws `NewerBatchFormat` when only processes of a newer release can decide it and there is none.
 */
export async function submitCommand(
  shards: LoadedShards,
  routing: CommandRouting | undefined,
  environment: Environment,
  command: Command,
): Promise<CommandResult> {
  const shard = shardOf(command.merchant_id, environment)
  for (let forwards = 0; routing && forwards < FORWARDS_MAX; forwards += 1) {
    const address = routing.placement.ownerOf(shard)
    if (address === undefined) break
    try {
      return await routing.forwarder.submit(address, shard, command)
    } catch (error) {
      // The process is well and keeps the shard: only what repeats an archived entry waits.
      if (error instanceof ArchiveUnavailable) throw error
      // The other process may have decided the command. Its id makes submitting it again harmless.
      routing.placement.avoid(shard, address, error)
    }
  }
  try {
    return await decideHere(shards, shard, command)
  } catch (error) {
    // This process has given the shard away now, so another one owns it if there is one.
    const address = error instanceof NewerBatchFormat ? routing?.placement.ownerOf(shard) : undefined
    if (routing === undefined || address === undefined) throw error
    return await routing.forwarder.submit(address, shard, command)
  }
}

/** Decides a command of a shard in this process. */
function decideHere(shards: LoadedShards, shard: number, command: Command): Promise<CommandResult> {
  return shards.use(shard, ({ processor }) => processor.submit(command))
}

/**
 * Decides commands of one shard that another process forwarded. They are never forwarded again, so commands cannot go
 * in circles. A command that fails gets the result `unavailable`.
 */
export async function decideForwarded(
  shards: LoadedShards,
  shard: number,
  commands: readonly Command[],
): Promise<ForwardedResult[]> {
  const settled = await Promise.allSettled(commands.map((command) => decideHere(shards, shard, command)))
  const failed = settled.flatMap((result): unknown[] => (result.status === 'rejected' ? [result.reason] : []))
  const [first] = failed
  // A shard of a newer format, or one that is stopped, was logged then. Other processes may still ask for it for a while.
  if (failed.length > 0 && !isLogged(first)) {
    log.warn(
      { shard, count: failed.length, error: first },
      'forwarded commands could not be decided; the process that sent them asks another one',
    )
  }
  return settled.map((result) => {
    if (result.status === 'fulfilled') return result.value
    return result.reason instanceof ArchiveUnavailable ? 'archive_unavailable' : 'unavailable'
  })
}

/** Whether a failure was logged where it was found. */
function isLogged(error: unknown): boolean {
  return (
    error instanceof NewerBatchFormat || error instanceof ShardStopped || error instanceof ArchiveUnavailable
  )
}
