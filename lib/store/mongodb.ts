import type { Secret } from '#lib/base/crypto/secret.ts'
import { clock } from '#lib/base/time.ts'
import type { StartWait } from '#lib/telemetry/wait-for-server.ts'
import { parseLayout } from './layout.ts'
import { createCollection } from './mongodb/collection.ts'
import { connectMongodb, isShardedCluster, openDatabase, watchMonitoring } from './mongodb/connect.ts'
import type { StoredDocument } from './mongodb/documents.ts'
import { type GridFs, openGridFs } from './mongodb/gridfs.ts'
import { createIndexes, indexesOf, verifyIndexes } from './mongodb/indexes.ts'
import { shardCollection, verifyShardKey } from './mongodb/sharding.ts'
import { refuseUnfinishedRestore } from './mongodb/unfinished-restore.ts'
import type { CollectionSpec, Store, Collection as StoreCollection } from './store.ts'

/** How much longer a check of a server may take than its connection and its response, which have the limit of a call. */
const CHECK_SLACK_MS = 5_000

interface MongodbOptions {
  readonly uri: Secret
  readonly database: string
  readonly timeout_ms: number
  /** The most connections to each server. */
  readonly connections_max: number
  /** Whether opening a collection creates its indexes and shard key, or only verifies them. */
  readonly schema: 'create' | 'verify'
  readonly start_wait: StartWait
  /** The time by which documents expire; by default the clock of this process. */
  readonly now_ms?: (() => number) | undefined
  /** Opens a database that a restore has marked. All others refuse it. */
  readonly is_restore?: true
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
  now_ms = () => clock.now_ms(),
  is_restore,
}: MongodbOptions): Promise<Store> {
  const connection = {
    uri,
    timeout_ms,
    connections_max,
    closes_silent_connections: schema === 'verify',
    start_wait,
  }
  const { client, calls, ping } = await connectMongodb(connection)
  const monitoring = watchMonitoring(client, 2 * timeout_ms + CHECK_SLACK_MS)
  const db = openDatabase(client, database)
  const is_sharded = await calls.read(() => isShardedCluster(client))

  const [prepareShardKey, prepareIndexes] =
    schema === 'create' ? [shardCollection, createIndexes] : [verifyShardKey, verifyIndexes]

  const opened_blobs: GridFs[] = []
  let checked: Promise<void> | undefined
  return {
    isAlone: () => false,
    async collection<D extends object>(spec: CollectionSpec): Promise<StoreCollection<D>> {
      const layout = parseLayout(spec)
      checked ??= is_restore ? Promise.resolve() : refuseUnfinishedRestore(db, calls)
      await checked
      const documents = db.collection<StoredDocument>(layout.name)
      if (is_sharded) await prepareShardKey(client, db, layout)
      await prepareIndexes(documents, indexesOf(layout))
      return createCollection<D>({ documents, layout, calls, now_ms })
    },
    async blobs(name) {
      const opened = await openGridFs(db, name, calls, prepareIndexes, now_ms)
      opened_blobs.push(opened)
      return opened.blobs
    },
    ping,
    async readClock() {
      const { localTime } = await calls.read((options) => db.command({ hello: 1, ...options }))
      if (!(localTime instanceof Date)) throw new TypeError('MongoDB reports no localTime')
      return localTime
    },
    async close() {
      await Promise.all([monitoring, ...opened_blobs].map((background) => background.stop()))
      await client.close()
    },
  }
}
