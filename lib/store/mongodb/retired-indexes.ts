import { type Db, MongoServerError } from 'mongodb'
import type { Declarations } from '../declarations.ts'
import { parseLayout } from '../layout.ts'
import type { DeclaredDatabase } from '../maintenance.ts'
import { withDatabase } from './connect.ts'
import { readFailure, writeFailure } from './failures.ts'
import { BUCKET_INDEXES } from './gridfs.ts'
import { indexesOf, NAMESPACE_NOT_FOUND } from './indexes.ts'
import { shardKeyOf } from './sharding.ts'

const IDENTITY = '_id_'

/** The indexes of a collection that must stay: their names, and the shard key, whose index MongoDB has named. */
interface KeptIndexes {
  readonly collection: string
  readonly names: readonly string[]
  readonly shard_key?: object
}

/** Finds the indexes of a database that are not declared, as `collection.index`. */
export function findRetiredIndexes(database: DeclaredDatabase): Promise<readonly string[]> {
  return forEachRetired(database, async () => {}).catch((error: unknown) => {
    throw readFailure(error)
  })
}

/** Drops the indexes of a database that are not declared, and returns them as `collection.index`. */
export function dropRetiredIndexes(database: DeclaredDatabase): Promise<readonly string[]> {
  const drop: VisitIndex = (db, collection, name) => db.collection(collection).dropIndex(name)
  return forEachRetired(database, drop).catch((error: unknown) => {
    throw writeFailure(error, 1)
  })
}

type VisitIndex = (db: Db, collection: string, name: string) => Promise<unknown>

function forEachRetired(database: DeclaredDatabase, visit: VisitIndex): Promise<readonly string[]> {
  return withDatabase(database, async (_client, db) => {
    const retired: string[] = []
    for (const kept of keptIndexes(database.declarations)) {
      for (const name of await retiredOf(db, kept)) {
        retired.push(`${kept.collection}.${name}`)
        await visit(db, kept.collection, name)
      }
    }
    return retired
  })
}

function keptIndexes({ collections, blobs }: Declarations): readonly KeptIndexes[] {
  return [
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
