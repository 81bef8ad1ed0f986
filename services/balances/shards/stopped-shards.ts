import { every } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge, measureOrForget } from '#lib/telemetry/metrics.ts'
import { ShardStopped } from '../domain/shard-stop.ts'
import type { ShardStops } from '../store/shard-stops.ts'
import type { LoadedShards } from './loaded-shards.ts'
import type { UnusableShards } from './unusable-shards.ts'

/** How long a process decides at most for a shard that another process has stopped. */
const POLL_MS = 5_000

const stopped_shards = gauge(
  'multihub_ledger_stopped_shards',
  'Ledger shards of the whole store whose decisions a verification has stopped.',
)

/**
 * Keeps the stopped shards of this process as they are stored: such a shard is unloaded and not used, and can be used again when its
 * stop has ended. The load of a shard reads its stop itself, so a process that has just started decides nothing for it either.
 */
export function watchStops(
  stops: Pick<ShardStops, 'listStopped'>,
  loaded: Pick<LoadedShards, 'unloadStopped'>,
  unusable: Pick<UnusableShards, 'setStopped'>,
) {
  const refresh = (): Promise<void> =>
    measureOrForget(
      async () => {
        const stopped = await stops.listStopped()
        unusable.setStopped(new Map(stopped.map((stop) => [stop.shard, new ShardStopped(stop)])))
        loaded.unloadStopped(new Set(stopped.map(({ shard }) => shard)))
        stopped_shards.set({}, stopped.length)
      },
      () => stopped_shards.remove({}),
    )
  const poll = every(POLL_MS, refresh, (error) =>
    log.warn({ error }, 'the stopped shards of the ledger could not be read'),
  )
  return {
    /** Reads them now. */
    refresh,
    cancel: poll.cancel,
  }
}
