import { join } from 'node:path'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { StartWait } from '#lib/telemetry/wait-for-server.ts'
import type {
  DeclaredDatabase,
  RestoreOptions,
  RestoreTarget,
  Snapshot,
  SnapshotOptions,
} from './maintenance.ts'
import type { Store } from './store.ts'

const TIMEOUT_MS = 5_000
/** The default of the setting MULTIHUB_MONGODB_CONNECTIONS. */
export const MONGODB_CONNECTIONS = 100
// Valid as a MongoDB database name and as a directory name on every system.
const DATABASE_NAME = /^[a-z][a-z0-9_-]{0,37}$/

/** The place of a service's documents: MongoDB when its URI is given, otherwise `directory`. */
export interface StoreOptions {
  /** The service's own database; no two services share one. */
  readonly database: string
  readonly mongodb_uri?: Secret | undefined
  /** The data directory of the embedded default; the store takes `directory/<database>`. */
  readonly directory?: string | undefined
  /** The time limit of every call in milliseconds; default 5,000. */
  readonly timeout_ms?: number
  /** The most connections to each MongoDB server; default 100. */
  readonly connections_max?: number
  /**
   * Whether opening a MongoDB collection creates its indexes and shard key (the default), or only verifies them. Serving
   * processes verify, so that they need no permission to change the schema. The embedded store always creates.
   */
  readonly schema?: 'create' | 'verify'
  /** How long to wait for a MongoDB that does not answer yet; by default not at all. */
  readonly start_wait?: StartWait
  /**
   * The time by which documents in MongoDB expire: the clock of the server, so that a process with a wrong clock takes no
   * living document for an expired one. Default: the clock of this process, as for the embedded store, which is on the
   * same machine.
   */
  readonly now_ms?: () => number
}

/**
 * Opens the store of one service. Throws `Unavailable`, with a sentence for the operator, when MongoDB cannot be
 * reached or the directory cannot be written.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { database, mongodb_uri, directory, timeout_ms = TIMEOUT_MS } = options
  const { connections_max = MONGODB_CONNECTIONS, schema = 'create', start_wait = { limit_ms: 0 } } = options
  if (!DATABASE_NAME.test(database))
    throw new TypeError(`${JSON.stringify(database)} is not a valid name for a database`)
  // Loaded on demand: a process needs one of the two adapters, and each takes a large part of the start time.
  if (mongodb_uri !== undefined) {
    const { openMongodb } = await import('./mongodb.ts')
    const connection = { uri: mongodb_uri, timeout_ms, connections_max, start_wait }
    return await openMongodb({ ...connection, database, schema, now_ms: options.now_ms })
  }
  if (directory === undefined) {
    throw new Unavailable('no store is configured: set MONGODB_URI or a data directory')
  }
  const { openEmbedded } = await import('./embedded.ts')
  return await openEmbedded({ directory: join(directory, database), timeout_ms })
}

/** Opens a snapshot. Throws `Unavailable` for a database that cannot be reached or does not exist. */
export async function openSnapshot(options: SnapshotOptions): Promise<Snapshot> {
  const { databases, mongodb_uri: uri, directory } = options
  if (uri !== undefined) {
    const { openMongodbSnapshot } = await import('./mongodb/snapshot.ts')
    return await openMongodbSnapshot(uri, options)
  }
  const { openEmbeddedSnapshot } = await import('./embedded/snapshot.ts')
  return await openEmbeddedSnapshot(databases.map((name) => ({ name, path: join(directory, name) })))
}

/**
 * Prepares a restore. Throws `Unavailable`, with what to do, when a database is not empty or an earlier restore was not
 * finished.
 */
export async function openRestoreTarget(options: RestoreOptions): Promise<RestoreTarget> {
  const { databases, mongodb_uri: uri, directory, start_wait } = options
  if (uri !== undefined) {
    const { openMongodbRestore } = await import('./mongodb/restore-target.ts')
    return await openMongodbRestore(uri, databases, start_wait)
  }
  const { openEmbeddedRestore } = await import('./embedded/restore-target.ts')
  return await openEmbeddedRestore(directory)
}

/**
 * Finds the indexes that no declaration has any more, as `collection.index`. Processes of an older release may still need
 * them. Throws `Unavailable`.
 */
export async function findRetiredIndexes(database: DeclaredDatabase): Promise<readonly string[]> {
  const adapter = await import('./mongodb/retired-indexes.ts')
  return await adapter.findRetiredIndexes(database)
}

/** Drops the indexes that `findRetiredIndexes` finds, and returns them. Throws `Unavailable`. */
export async function dropRetiredIndexes(database: DeclaredDatabase): Promise<readonly string[]> {
  const adapter = await import('./mongodb/retired-indexes.ts')
  return await adapter.dropRetiredIndexes(database)
}
