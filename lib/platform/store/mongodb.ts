import { MongoClient } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import { parseLayout } from './layout.ts'
import { createMongoCalls, selectionTimeout } from './mongodb/calls.ts'
import { createCollection } from './mongodb/collection.ts'
import type { StoredDocument } from './mongodb/documents.ts'
import { openGridFs } from './mongodb/gridfs.ts'
import { createIndexes } from './mongodb/indexes.ts'
import type { Collection, CollectionSpec, Store } from './store.ts'

const POOL_MAX = 100
/** The interval in which the driver notices a silent server and ends the calls that wait for it. */
const HEARTBEAT_MS = 5_000
const POOL_IDLE_MS = 60_000

/** The options of the MongoDB store of one service. */
export interface MongodbOptions {
  readonly uri: Secret
  readonly database: string
  readonly timeout_ms: number
}

/**
 * Opens the store of one service in its own database of a replica set or a sharded cluster (shard each collection by
 * its partition). Reads return majority-committed data. A write resolves when a majority has it in its journal.
 */
export async function openMongodb({ uri, database, timeout_ms }: MongodbOptions): Promise<Store> {
  const client = connect(uri, timeout_ms)
  const calls = createMongoCalls(client, timeout_ms)
  const db = client.db(database)
  const ping = async (): Promise<void> => {
    await calls.read(() => db.command({ ping: 1 }))
  }
  try {
    await ping()
  } catch (error) {
    await client.close()
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : error
    throw new Unavailable(`MongoDB does not answer (${reason}): start it, or correct MONGODB_URI`, {
      cause: error,
    })
  }
  return {
    async collection<D extends object>(spec: CollectionSpec): Promise<Collection<D>> {
      const layout = parseLayout(spec)
      const documents = db.collection<StoredDocument>(layout.name)
      await createIndexes(documents, layout)
      return createCollection<D>({ documents, layout, calls })
    },
    blobs: (name) => openGridFs(db, name, calls),
    ping,
    close: () => client.close(),
  }
}

function connect(uri: Secret, timeout_ms: number): MongoClient {
  try {
    return new MongoClient(uri.reveal(), {
      appName: 'multihub',
      readPreference: 'primary',
      readConcern: { level: 'majority' },
      writeConcern: { w: 'majority', journal: true },
      retryReads: true,
      retryWrites: true,
      serverSelectionTimeoutMS: selectionTimeout(timeout_ms),
      waitQueueTimeoutMS: selectionTimeout(timeout_ms),
      connectTimeoutMS: timeout_ms,
      heartbeatFrequencyMS: HEARTBEAT_MS,
      maxPoolSize: POOL_MAX,
      maxIdleTimeMS: POOL_IDLE_MS,
      useBigInt64: true,
      promoteBuffers: true,
      // Shows whether a command was sent, which separates a write that did not happen from one that may have happened.
      monitorCommands: true,
    })
  } catch (error) {
    // The driver's own message may repeat the URI, which holds a password.
    throw new Unavailable(
      `MONGODB_URI is not a MongoDB URI (${error instanceof Error ? error.name : typeof error})`,
    )
  }
}
