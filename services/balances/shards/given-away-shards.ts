import { log } from '#lib/platform/telemetry/log.ts'
import { gauge } from '#lib/platform/telemetry/metrics.ts'
import { clock } from '#lib/platform/time.ts'
import { NewerBatchFormat } from '../domain/batch-format.ts'
import { GIVEN_AWAY_MS } from '../limits.ts'
import type { LoadedShards } from './loaded-shards.ts'

/** The shards that this process leaves to processes of a newer release, because it cannot read their newest batch. */
export interface GivenAwayShards {
  /** Whether this process leaves the shard to others now: it must not take it, nor ask the store about it. */
  has(shard: number): boolean
  /** The numbers of those that have not been read again yet, in order, also while `has` is `false` for a new try. */
  list(): readonly number[]
  /**
   * Wraps the use of shards: a shard in which a newer batch is met is given away for `GIVEN_AWAY_MS`, and every use of it
   * throws `NewerBatchFormat` meanwhile. All other shards are used as before.
   */
  guard(shards: LoadedShards): LoadedShards
}

interface GivenAway {
  readonly error: NewerBatchFormat
  readonly until_ms: number
}

const given_away_shards = gauge(
  'multihub_ledger_newer_format_shards',
  'Ledger shards that this process leaves to processes of a newer release.',
)

/** Creates the memory of the shards that a process has given away. */
export function createGivenAwayShards(): GivenAwayShards {
  const given_away = new Map<number, GivenAway>()

  const current = (shard: number): GivenAway | undefined => {
    const found = given_away.get(shard)
    return found && clock.monotonic_ms() < found.until_ms ? found : undefined
  }

  function giveAway(error: NewerBatchFormat): void {
    const { shard } = error
    // Only the first time: the shard stays unreadable until this process is replaced by one of the newer release.
    if (!given_away.has(shard))
      log.error({ shard, error }, 'a shard is left to processes of a newer release; complete the update')
    given_away.set(shard, { error, until_ms: clock.monotonic_ms() + GIVEN_AWAY_MS })
    given_away_shards.set({}, given_away.size)
  }

  /** `before` is what was known when the use of the shard began: a use that began before the shard was given away proves nothing. */
  function takeBack(shard: number, before: GivenAway | undefined): void {
    if (before === undefined || given_away.get(shard) !== before) return
    given_away.delete(shard)
    given_away_shards.set({}, given_away.size)
    log.info({ shard }, 'a shard that was left to a newer release can be read again')
  }

  return {
    has: (shard) => current(shard) !== undefined,
    list: () => [...given_away.keys()].sort((one, other) => one - other),
    guard: (shards) => ({
      ...shards,
      async use(shard, work) {
        const blocked = current(shard)
        if (blocked) throw blocked.error
        const before = given_away.get(shard)
        try {
          const result = await shards.use(shard, work)
          takeBack(shard, before)
          return result
        } catch (error) {
          // Every waiting command fails with the error. Only the first one gives the shard away.
          if (error instanceof NewerBatchFormat && current(shard) === undefined) giveAway(error)
          throw error
        }
      },
    }),
  }
}
