import { upsert } from '#lib/patterns/update.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import type { CollectionSpec, Store } from '#lib/store/store.ts'
import { SHARDS } from '../domain/shard.ts'
import type { ShardStop } from '../domain/shard-stop.ts'

/** The collection of the stops. */
export const SHARD_STOPS = {
  name: 'shard_stops',
  partition: ['shard'],
  key: ['shard'],
  indexes: {
    ...ACT_INDEX,
    by_stopped: { fields: ['stopped_since'], where: 'stopped_since', across_partitions: true },
  },
} as const satisfies CollectionSpec

/** The stored stops, at most one per shard. */
export type ShardStops = Awaited<ReturnType<typeof openShardStops>>

/** Opens the collection `shard_stops`. */
export async function openShardStops(store: Store) {
  const collection = await store.collection<ShardStop>(SHARD_STOPS)
  return {
    /** The last stop of a shard, by a read that sees every stop stored before it. */
    get: (shard: number): Promise<ShardStop | undefined> => collection.get({ shard }, { linearizable: true }),
    /** Stores what `decide` returns for the last stop of a shard, unless that is `undefined`. Returns the stored one. */
    update: (
      shard: number,
      decide: (current: ShardStop | undefined) => ShardStop | undefined,
    ): Promise<ShardStop | undefined> => upsert(collection, { shard }, decide),
    /** The stops that have not ended, one per shard. */
    listStopped: (): Promise<readonly ShardStop[]> => collection.find('by_stopped', {}, { limit: SHARDS }),
  }
}
