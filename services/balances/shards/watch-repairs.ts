import { every, type Timer } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Checkpoints } from '../store/checkpoints.ts'
import type { LoadedShards } from './loaded-shards.ts'

/** How long a process decides at most by the balances of a checkpoint that was repaired since. */
const POLL_MS = 5_000

/**
 * Looks in the background for checkpoints that a verification has repaired, in any process, and unloads the shards that
 * this process has loaded from a wrong one. It costs one read of an index that is empty without repairs.
 */
export function watchRepairs(checkpoints: Pick<Checkpoints, 'listRepairs'>, shards: LoadedShards): Timer {
  return every(
    POLL_MS,
    async () => shards.unloadRepaired(await checkpoints.listRepairs()),
    (error) => log.warn({ error }, 'the repairs of checkpoints could not be read'),
  )
}
