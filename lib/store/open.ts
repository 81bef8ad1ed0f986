import { join } from 'node:path'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { StartWait } from '#lib/telemetry/wait-for-server.ts'
import type {
  Consistency,
  DatabasePlace,
  DeclaredDatabase,
  MongodbDatabase,
  RangeMoves,
  RestoreTarget,
  Snapshot,
  WeighedRanges,
} from './maintenance.ts'
import type { Store } from './store.ts'

const TIMEOUT_MS = 5_000
const NO_WAIT: StartWait = { limit_ms: 0 }
/** The default of the setting MULTIHUB_MONGODB_CONNECTIONS. */
export const MONGODB_CONNECTIONS = 50
// Valid as a MongoDB database name and as a directory name on every system.
const DATABASE_NAME = /^[a-z][a-z0-9_-]{0,37}$/

/** The place of a service's documents and how to use it. */
export interface StoreOptions extends DatabasePlace {
  /** The service's own database; no two services share one. */
  readonly database: string
  /** The time limit of every call in milliseconds; default 5,000. */
  readonly timeout_ms?: number
  /** The most connections to each MongoDB server; default 50. */
  readonly connections_max?: number
  /**
   * Whether opening a MongoDB collection creates its indexes and shard key (the default), or only verifies them. Serving
   * processes verify, so that they need no permission to change the schema. The embedded store always creates.
   */
  readonly schema?: 'create' | 'verify'
  /**
   * The time by which documents in MongoDB expire: the clock of the server, so that a process with a wrong clock takes no
   * living document for an expired one. Default: the clock of this process, as for the embedded store, which is on the
   * same machine.
   */
  readonly now_ms?: () => number
}

/**
 * Opens the store of one service. Throws `Unavailable`, with a sentence for the operator, when MongoDB cannot be
 * reached, the directory cannot be written, or a restore was not finished.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { database, mongodb_uri, timeout_ms = TIMEOUT_MS } = options
  const { connections_max = MONGODB_CONNECTIONS, schema = 'create', start_wait = NO_WAIT } = options
  if (!DATABASE_NAME.test(database))
    throw new TypeError(`${JSON.stringify(database)} is not a valid name for a database`)
  // Loaded on demand: a process needs one of the two adapters, and each takes a large part of the start time.
  if (mongodb_uri !== undefined) {
    const { openMongodb } = await import('./mongodb.ts')
    const connection = { uri: mongodb_uri, timeout_ms, connections_max, start_wait }
    return await openMongodb({ ...connection, database, schema, now_ms: options.now_ms })
  }
  const { refuseUnfinishedRestore } = await import('./embedded/restore-target.ts')
  const { openEmbedded } = await import('./embedded.ts')
  const directory = directoryOf(options)
  await refuseUnfinishedRestore(directory)
  return await openEmbedded({ directory: join(directory, database), timeout_ms })
}

/**
 * Opens a snapshot of databases. MongoDB keeps an instant for minutes only, so a reader that takes longer than that asks for
 * `ordered`. A server that has no instants gives `ordered` always, and embedded files give `instant`. Throws `Unavailable` for
 * a database that cannot be reached or does not exist.
 */
export async function openSnapshot(
  place: DatabasePlace,
  databases: readonly string[],
  consistency: Consistency,
): Promise<Snapshot> {
  const { mongodb_uri, start_wait = NO_WAIT } = place
  if (mongodb_uri !== undefined) {
    const { openMongodbSnapshot } = await import('./mongodb/snapshot.ts')
    return await openMongodbSnapshot(mongodb_uri, start_wait, databases, consistency)
  }
  const { openEmbeddedSnapshot } = await import('./embedded/snapshot.ts')
  return await openEmbeddedSnapshot(directoryOf(place), databases)
}

/**
 * Prepares a restore of databases. Throws `Unavailable`, with what to do, when a database is not empty or an earlier restore
 * was not finished.
 */
export async function openRestoreTarget(
  place: DatabasePlace,
  databases: readonly string[],
): Promise<RestoreTarget> {
  const { mongodb_uri, start_wait = NO_WAIT } = place
  if (mongodb_uri !== undefined) {
    const { openMongodbRestore } = await import('./mongodb/restore-target.ts')
    return await openMongodbRestore(mongodb_uri, databases, start_wait)
  }
  const { openEmbeddedRestore } = await import('./embedded/restore-target.ts')
  return await openEmbeddedRestore(directoryOf(place))
}

/**
 * Finds the indexes that no declaration has any more, as `collection.index`. Processes of an older release may still need
 * them. Throws `Unavailable`.
 */
export async function findRetiredIndexes(database: DeclaredDatabase): Promise<readonly string[]> {
  return await (await import('./mongodb/retired-indexes.ts')).findRetiredIndexes(database)
}

/** Drops the indexes that `findRetiredIndexes` finds, and returns them. Throws `Unavailable`. */
export async function dropRetiredIndexes(database: DeclaredDatabase): Promise<readonly string[]> {
  return await (await import('./mongodb/retired-indexes.ts')).dropRetiredIndexes(database)
}

/**
 * Moves the ranges of a collection between the servers of a sharded cluster so that their weights are even, and those with the
 * greatest weights are apart. Prints one line per move, and per move that MongoDB refused. A repetition moves only what new
 * weights or servers require. Throws `Unavailable`.
 */
export async function moveRanges(
  database: MongodbDatabase,
  ranges: WeighedRanges,
  printLine: (line: string) => void,
): Promise<RangeMoves> {
  return await (await import('./mongodb/ranges.ts')).moveWeighedRanges(database, ranges, printLine)
}

function directoryOf({ directory }: DatabasePlace): string {
  if (directory === undefined)
    throw new Unavailable('no store is configured: set MONGODB_URI or a data directory')
  return directory
}
