import type { Db, Document, MongoClient } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Layout } from '../layout.ts'
import { MIGRATE_ADVICE } from './indexes.ts'
import { prepareRanges } from './ranges.ts'

type ShardKey = Readonly<Record<string, 1 | 'hashed'>>

/**
 * The fields by which a cluster splits a collection: the hash of `_id`, so that inserts spread whatever the keys begin with. A
 * collection with another unique index uses its partition, because MongoDB accepts a unique index only if it begins with the
 * shard key, and none on a hashed one. The ledger's journal is such a collection.
 */
export function shardKeyOf({ partition, indexes, ranges }: Layout): ShardKey {
  if (ranges === undefined && !indexes.some(({ unique }) => unique)) return { _id: 'hashed' }
  return Object.fromEntries(partition.map((field) => [field, 1] as const))
}

/**
 * Shards a collection by its shard key, and prepares its ranges if it has any. What is done already stays as it is. Throws
 * `Unavailable` for a collection with another shard key: only its operator can choose the time of its resharding.
 */
export async function shardCollection(client: MongoClient, db: Db, layout: Layout): Promise<void> {
  const namespace = `${db.databaseName}.${layout.name}`
  const key = shardKeyOf(layout)
  const stored = await storedShardKey(client, namespace)
  if (stored === undefined) {
    const admin = client.db('admin')
    await admin.command({ enableSharding: db.databaseName })
    // MongoDB creates it itself only for a collection without documents.
    await db.collection(layout.name).createIndex(key)
    await admin.command({ shardCollection: namespace, key })
  } else if (!isSame(stored, key)) {
    const wanted = JSON.stringify(key)
    throw new Unavailable(
      `the collection ${namespace} is sharded by ${JSON.stringify(stored)}: run sh.reshardCollection("${namespace}", ${wanted}) in mongosh, then "main.ts migrate" again`,
    )
  }
  if (layout.ranges !== undefined) await prepareRanges(client, db, layout)
}

/** Throws `Unavailable` unless a collection is sharded by its shard key. */
export async function verifyShardKey(client: MongoClient, db: Db, layout: Layout): Promise<void> {
  const namespace = `${db.databaseName}.${layout.name}`
  const key = shardKeyOf(layout)
  if (isSame(await storedShardKey(client, namespace), key)) return
  throw new Unavailable(
    `the collection ${namespace} is not sharded by ${JSON.stringify(key)}: ${MIGRATE_ADVICE}`,
  )
}

async function storedShardKey(client: MongoClient, namespace: string): Promise<Document | undefined> {
  const collections = client.db('config').collection<{ _id: string; key: Document }>('collections')
  return (await collections.findOne({ _id: namespace }))?.key
}

/** The order of the fields counts. */
function isSame(stored: Document | undefined, key: ShardKey): boolean {
  return JSON.stringify(stored) === JSON.stringify(key)
}
