import { clock } from '#lib/base/time.ts'
import { log, unlimited_log } from '#lib/telemetry/log.ts'
import { gauge } from '#lib/telemetry/metrics.ts'
import { CorruptJournal, NewerBatchFormat } from '../domain/hash-chain.ts'
import { ShardStopped } from '../domain/shard-stop.ts'
import { UNUSABLE_SHARD_MS } from '../limits.ts'
import { type LoadedShards, NoUsableCheckpoint } from './loaded-shards.ts'

/**
 * The shards that this process cannot use: shards with a batch of a newer format, which it leaves to processes of a newer release,
 * shards whose journal is corrupt, shards that a verification has stopped, and shards that it cannot load without the archive.
 */
export type UnusableShards = ReturnType<typeof createUnusableShards>

interface UnusableShard {
  readonly error: NewerBatchFormat | CorruptJournal | ShardStopped | NoUsableCheckpoint
  readonly until_ms: number
}

const newer_format_shards = gauge(
  'multihub_ledger_newer_format_shards',
  'Ledger shards that this process leaves to processes of a newer release.',
)

const corrupt_shards = gauge(
  'multihub_ledger_corrupt_shards',
  'Ledger shards whose journal this process found to be corrupt, so that it decides nothing for them.',
)

const MESSAGES: Readonly<Record<UnusableShard['error']['name'], string>> = {
  NewerBatchFormat: 'a shard is left to processes of a newer release; complete the update',
  CorruptJournal:
    'the journal of a shard is corrupt; nothing is decided for its merchants until it is restored',
  ShardStopped:
    'a verification has stopped a shard; nothing is decided for its merchants until the stop ends',
  NoUsableCheckpoint:
    'a shard cannot be loaded without its checkpoint and the archive; nothing is decided for its merchants here',
}

const WORDS: Readonly<Record<UnusableShard['error']['name'], string>> = {
  NewerBatchFormat: 'newer format',
  CorruptJournal: 'corrupt',
  ShardStopped: 'stopped',
  NoUsableCheckpoint: 'no usable checkpoint',
}

/** Creates the memory of the shards that a process cannot use. */
export function createUnusableShards() {
  const unusable = new Map<number, UnusableShard>()

  const current = (shard: number): UnusableShard | undefined => {
    const found = unusable.get(shard)
    return found && clock.monotonic_ms() < found.until_ms ? found : undefined
  }

  const inOrder = (): [number, UnusableShard][] => [...unusable].sort(([one], [other]) => one - other)

  const listGivenAway = (): number[] =>
    inOrder().flatMap(([shard, { error }]) => (error instanceof NewerBatchFormat ? [shard] : []))

  function setMetrics(): void {
    const corrupt = [...unusable.values()].filter(({ error }) => error instanceof CorruptJournal)
    newer_format_shards.set({}, listGivenAway().length)
    corrupt_shards.set({}, corrupt.length)
  }

  function block(shard: number, error: UnusableShard['error']): void {
    // Only the first time: the operator must act before the shard can be read again.
    if (unusable.get(shard)?.error.name !== error.name)
      unlimited_log.error({ shard, error }, MESSAGES[error.name])
    // `setStopped` ends a stop.
    const until_ms =
      error instanceof ShardStopped ? Number.POSITIVE_INFINITY : clock.monotonic_ms() + UNUSABLE_SHARD_MS
    unusable.set(shard, { error, until_ms })
    setMetrics()
  }

  /** `before` is what was known when the use of the shard began: a use that began before it was blocked proves nothing. */
  function unblock(shard: number, before: UnusableShard | undefined): void {
    if (before === undefined || unusable.get(shard) !== before) return
    unusable.delete(shard)
    setMetrics()
    log.info({ shard }, 'a shard that could not be used can be read again')
  }

  return {
    /** Whether this process leaves the shard to a newer release now: it must not take it, nor ask the store about it. */
    isGivenAway: (shard: number): boolean => current(shard)?.error instanceof NewerBatchFormat,
    /** The numbers of the shards that have not been read again yet, in order, also while a new try is allowed. */
    listGivenAway,
    /** What is wrong with each unusable shard, such as `shard 7: corrupt`. */
    describe: (): readonly string[] =>
      inOrder().map(([shard, { error }]) => `shard ${shard}: ${WORDS[error.name]}`),
    /** Takes the shards that are stopped now. A shard that is stopped no more can be used again at once. */
    setStopped(stopped: ReadonlyMap<number, ShardStopped>): void {
      for (const [shard, one] of [...unusable])
        if (one.error instanceof ShardStopped && !stopped.has(shard)) unblock(shard, one)
      for (const [shard, error] of stopped)
        if (!(unusable.get(shard)?.error instanceof ShardStopped)) block(shard, error)
    },
    /**
     * Wraps the use of shards: after a use that threw `NewerBatchFormat`, `CorruptJournal` or `NoUsableCheckpoint`, every use of that
     * shard throws the same for `UNUSABLE_SHARD_MS`; after `ShardStopped` until `setStopped`. All other shards are used as before.
     */
    guard: (shards: LoadedShards): LoadedShards => ({
      ...shards,
      async use(shard, work) {
        const blocked = current(shard)
        if (blocked) throw blocked.error
        const before = unusable.get(shard)
        try {
          const result = await shards.use(shard, work)
          unblock(shard, before)
          return result
        } catch (error) {
          // Every waiting command fails with the error. Only the first one blocks the shard.
          const is_lasting =
            error instanceof NewerBatchFormat ||
            error instanceof CorruptJournal ||
            error instanceof NoUsableCheckpoint ||
            error instanceof ShardStopped
          if (is_lasting && current(shard) === undefined) block(shard, error)
          throw error
        }
      },
    }),
  }
}
