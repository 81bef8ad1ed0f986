import type { Db, MongoClient } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Layout } from '../layout.ts'
import { MIGRATE_ADVICE } from './migrate-advice.ts'

/** The shard key of a collection, in the order of its fields. */
export type ShardKey = Readonly<Record<string, 1>>

/**
 * The fields by which a cluster splits a collection: the whole key, so that the documents of one busy merchant can be
 * split too. A collection with another unique index uses its partition, because MongoDB accepts a unique index only if
 * it begins with the shard key. The ledger's journal is such a collection.
 */
export function shardKeyOf({ key, partition, indexes }: Layout): ShardKey {
  const fields = indexes.some(({ unique }) => unique) ? partition : key
  return Object.fromEntries(fields.map((field) => [field, 1] as const))
}

/** Whether the client is connected to a router of a sharded cluster. */
export async function isShardedCluster(client: MongoClient): Promise<boolean> {
  const hello = await client.db('admin').command({ hello: 1 })
  return hello['msg'] === 'isdbgrid'
}

/** Shards a collection by its shard key. A collection that is sharded by this key already stays as it is. */
export async function shardCollection(client: MongoClient, db: Db, layout: Layout): Promise<void> {
  const namespace = `${db.databaseName}.${layout.name}`
  await client.db('admin').command({ enableSharding: db.databaseName })
  await client.db('admin').command({ shardCollection: namespace, key: shardKeyOf(layout) })
}

/** Throws `Unavailable` unless a collection is sharded by its shard key. */
export async function verifyShardKey(client: MongoClient, db: Db, layout: Layout): Promise<void> {
  const namespace = `${db.databaseName}.${layout.name}`
  const stored = await client
    .db('config')
    .collection<{ _id: string; key: ShardKey }>('collections')
    .findOne({ _id: namespace })
  const wanted = JSON.stringify(shardKeyOf(layout))
  if (JSON.stringify(stored?.key) === wanted) return
  throw new Unavailable(`the collection ${namespace} is not sharded by ${wanted}: ${MIGRATE_ADVICE}`)
}
