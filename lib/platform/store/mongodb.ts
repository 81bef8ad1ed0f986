import { type Db, MongoClient, MongoServerError, ReadConcern } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import { type StartWait, waitForServer } from '#lib/platform/process/wait-for-server.ts'
import { parseLayout } from './layout.ts'
import { createMongoCalls, selectionTimeout } from './mongodb/calls.ts'
import { createCollection } from './mongodb/collection.ts'
import type { StoredDocument } from './mongodb/documents.ts'
import { openGridFs } from './mongodb/gridfs.ts'
import { createIndexes, indexesOf, verifyIndexes } from './mongodb/indexes.ts'
import { isShardedCluster, shardCollection, verifyShardKey } from './mongodb/shard-key.ts'
import type { CollectionSpec, Store, Collection as StoreCollection } from './store.ts'

/** The interval in which the driver notices a silent server and ends the calls that wait for it. */
const HEARTBEAT_MS = 5_000
const POOL_IDLE_MS = 60_000

/** The options of the MongoDB store of one service. */
export interface MongodbOptions {
  readonly uri: Secret
  readonly database: string
  readonly timeout_ms: number
  /** The most connections to each server. */
  readonly connections_max: number
  /** Whether opening a collection creates its indexes and shard key, or only verifies them. */
  readonly schema: 'create' | 'verify'
  readonly start_wait: StartWait
}

/**
 * Opens the store of one service in its own database of a replica set or a sharded cluster (see `shardKeyOf`). Reads
 * return majority-committed data. A write resolves when a majority has it in its journal. Options of the URI cannot change
 * that.
 */
export async function openMongodb({
  uri,
  database,
  timeout_ms,
  connections_max,
  schema,
  start_wait,
}: MongodbOptions): Promise<Store> {
  const client = connect(uri, timeout_ms, connections_max, schema === 'verify')
  const calls = createMongoCalls(client, timeout_ms, connections_max)
  const db = openDatabase(client, database)
  const ping = async (): Promise<void> => {
    await calls.read((options) => db.command({ ping: 1, ...options }))
  }
  let tries = 0
  /** After a first connection that failed, the client remains closed unless it is asked to connect again. */
  const connectAndPing = async (): Promise<void> => {
    tries += 1
    if (tries > 1) await calls.read(() => client.connect())
    await ping()
  }
  try {
    await waitForServer({ name: 'MongoDB', isMissing }, start_wait, connectAndPing)
  } catch (error) {
    await client.close()
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : error
    throw new Unavailable(`MongoDB does not answer (${reason}): start it, or correct MONGODB_URI`, {
      cause: error,
    })
  }
  const is_sharded = await calls.read(() => isShardedCluster(client))

  const [prepareShardKey, prepareIndexes] =
    schema === 'create' ? [shardCollection, createIndexes] : [verifyShardKey, verifyIndexes]

  return {
    async collection<D extends object>(spec: CollectionSpec): Promise<StoreCollection<D>> {
      const layout = parseLayout(spec)
      const documents = db.collection<StoredDocument>(layout.name)
      // Before the indexes, because MongoDB creates the index of the shard key only for an empty collection.
      if (is_sharded) await prepareShardKey(client, db, layout)
      await prepareIndexes(documents, indexesOf(layout))
      return createCollection<D>({ documents, layout, calls })
    },
    blobs: (name) => openGridFs(db, name, calls, prepareIndexes),
    ping,
    async readClock() {
      const { localTime } = await calls.read((options) => db.command({ hello: 1, ...options }))
      if (!(localTime instanceof Date)) throw new TypeError('MongoDB reports no localTime')
      return localTime
    },
    close: () => client.close(),
  }
}

/**
 * A database handle with the concerns that the store promises. They are set here because options of the URI, such as
 * `readConcernLevel` and `journal`, win over the options of the client. Throws `TypeError` when they do not hold.
 */
export function openDatabase(client: MongoClient, name: string): Db {
  const db = client.db(name, {
    readPreference: 'primary',
    readConcern: new ReadConcern('majority'),
    writeConcern: { w: 'majority', journal: true },
  })
  const { readConcern, writeConcern, readPreference } = db
  const is_durable = writeConcern?.w === 'majority' && writeConcern.journal === true
  if (!is_durable || readConcern?.level !== 'majority' || readPreference?.mode !== 'primary')
    throw new TypeError('the database handle does not have the concerns of the store')
  return db
}

/** Whether no server answered. A server that answers with an error, such as a wrong password, is not waited for. */
function isMissing(error: unknown): boolean {
  return error instanceof Unavailable && !(error.cause instanceof MongoServerError)
}

/**
 * `is_bounded`: no command takes longer than a call. Then a connection without a response was lost by the network and is
 * closed; the heartbeats have connections of their own and do not notice it. The creation of an index has no limit.
 */
function connect(uri: Secret, timeout_ms: number, connections_max: number, is_bounded: boolean): MongoClient {
  try {
    return new MongoClient(uri.reveal(), {
      appName: 'multihub',
      retryReads: true,
      retryWrites: true,
      serverSelectionTimeoutMS: selectionTimeout(timeout_ms),
      waitQueueTimeoutMS: selectionTimeout(timeout_ms),
      connectTimeoutMS: timeout_ms,
      socketTimeoutMS: is_bounded ? timeout_ms : 0,
      heartbeatFrequencyMS: HEARTBEAT_MS,
      maxPoolSize: connections_max,
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
