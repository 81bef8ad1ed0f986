import { log } from '#lib/telemetry/log.ts'
import { NewerBatchFormat } from '../domain/batch-format.ts'
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
  const failed = settled.flatMap((result): unknown[] => (result.status === 'rejected' ? [result.reason] : []))
  const [first] = failed
  // A shard of a newer format was logged when it was given away. Other processes may still ask for it for a while.
  if (failed.length > 0 && !(first instanceof NewerBatchFormat)) {
    log.warn(
      { shard, count: failed.length, error: first },
      'forwarded commands could not be decided; the process that sent them asks another one',
    )
  }
  return settled.map((result) => (result.status === 'fulfilled' ? result.value : 'unavailable'))
}
