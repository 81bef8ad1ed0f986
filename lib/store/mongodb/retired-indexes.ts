import { type Db, MongoServerError } from 'mongodb'
import { parseLayout } from '../layout.ts'
import type { DeclaredDatabase } from '../retired-indexes.ts'
import { BUCKET_INDEXES } from './bucket.ts'
import { connectMongodb, openDatabase } from './connect.ts'
import { readFailure, writeFailure } from './failures.ts'
import { indexesOf, NAMESPACE_NOT_FOUND } from './indexes.ts'
import { shardKeyOf } from './shard-key.ts'

const TIMEOUT_MS = 10_000
const CONNECTIONS_MAX = 5
const IDENTITY = '_id_'

/** The indexes of a collection that must stay: their names, and the shard key, whose index MongoDB has named. */
interface KeptIndexes {
  readonly collection: string
  readonly names: readonly string[]
  readonly shard_key?: object
}

/** Finds the indexes of a database that are not declared, as `collection.index`, and drops them if `drops` is set. */
export async function retireIndexes(
  { mongodb_uri: uri, database, declarations, start_wait }: DeclaredDatabase,
  { drops }: { readonly drops: boolean },
): Promise<readonly string[]> {
  const limits = { timeout_ms: TIMEOUT_MS, connections_max: CONNECTIONS_MAX, is_bounded: false }
  const { client } = await connectMongodb({ uri, ...limits, start_wait })
  const db = openDatabase(client, database)
  const { collections, blobs } = declarations
  const kept: readonly KeptIndexes[] = [
    ...collections.map(parseLayout).map((layout) => ({
      collection: layout.name,
      names: indexesOf(layout).map(({ name }) => name),
      shard_key: shardKeyOf(layout),
    })),
    ...blobs.flatMap((name) =>
      Object.entries(BUCKET_INDEXES).map(([part, { name: index }]) => ({
        collection: `${name}.${part}`,
        names: [index],
      })),
    ),
  ]
  try {
    const retired: string[] = []
    for (const one of kept) {
      for (const name of await retiredOf(db, one)) {
        retired.push(`${one.collection}.${name}`)
        if (drops) await db.collection(one.collection).dropIndex(name)
      }
    }
    return retired
  } catch (error) {
    throw drops ? writeFailure(error, 1) : readFailure(error)
  } finally {
    await client.close()
  }
}

async function retiredOf(db: Db, { collection, names, shard_key }: KeptIndexes): Promise<readonly string[]> {
  const stored = await db
    .collection(collection)
    .indexes()
    .catch((error: unknown) => {
      if (error instanceof MongoServerError && error.code === NAMESPACE_NOT_FOUND) return []
      throw error
    })
  return stored
    .filter(({ name = IDENTITY }) => name !== IDENTITY && !names.includes(name))
    .filter(({ key }) => JSON.stringify(key) !== JSON.stringify(shard_key))
    .map(({ name = IDENTITY }) => name)
}
