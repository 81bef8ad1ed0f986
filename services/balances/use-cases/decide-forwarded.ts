import { log } from '#lib/platform/telemetry/log.ts'
import type { Command } from '../domain/command.ts'
import type { ForwardedResult } from '../forwarding/command-forwarder.ts'
import type { LoadedShards } from '../shards/loaded-shards.ts'
import { decideHere } from './submit-command.ts'

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
  const failed = settled.filter((result) => result.status === 'rejected')
  const [first] = failed
  if (first) {
    log.warn(
      { shard, count: failed.length, error: first.reason },
      'forwarded commands could not be decided; the process that sent them decides them',
    )
  }
  return settled.map((result) => (result.status === 'fulfilled' ? result.value : 'unavailable'))
}
