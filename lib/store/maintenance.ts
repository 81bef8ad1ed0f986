import type { Secret } from '#lib/base/crypto/secret.ts'
import type { StartWait } from '#lib/telemetry/wait-for-server.ts'
import type { Body } from './check.ts'
import type { Declarations } from './declarations.ts'
import type { CollectionSpec, Store } from './store.ts'

/** Where the databases of an installation are: in MongoDB when its URI is given, otherwise below `directory`. */
export interface DatabasePlace {
  readonly mongodb_uri?: Secret | undefined
  /** The data directory of the embedded default; a store takes `directory/<database>`. */
  readonly directory?: string | undefined
  /** How long to wait for a MongoDB that does not answer yet; by default not at all. */
  readonly start_wait?: StartWait
}

/** A MongoDB database. */
export interface MongodbDatabase {
  readonly mongodb_uri: Secret
  readonly start_wait?: StartWait
  readonly database: string
}

/** A MongoDB database and what this release declares of it. */
export interface DeclaredDatabase extends MongodbDatabase {
  readonly declarations: Declarations
}

/** A collection with `ranges`, and what each of its ranges weighs: the documents per time that are inserted into it, say. */
export interface WeighedRanges {
  readonly spec: CollectionSpec
  readonly weights: readonly number[]
}

/** How many ranges were moved, and how many moves MongoDB refused. */
export interface RangeMoves {
  readonly moved: number
  readonly refused: number
}

/** A blob of a snapshot. Its bytes must be read before the next blob. */
export interface SnapshotBlob {
  readonly id: string
  /** Throws `BlobGone` when the blob is deleted while it is read. */
  readonly bytes: AsyncIterable<Uint8Array>
}

/** One database of a snapshot. */
export interface DatabaseSnapshot {
  /** The names of all collections and blobs that the database has, also of those that no code declares. */
  listStored(): Promise<readonly string[]>
  /** The documents of a collection in the order of their keys, without expired ones. */
  readDocuments(spec: CollectionSpec): AsyncIterable<Body>
  /** All complete blobs. Those that are deleted meanwhile may be left out. */
  readBlobs(name: string): AsyncIterable<SnapshotBlob>
}

/**
 * `instant`: all documents of all databases are as they were at one instant. `ordered`: each document is as it is when it is
 * read, so what refers to another document must be read before that one.
 */
export type Consistency = 'instant' | 'ordered'

/** A reading view of several databases, while they are written. */
export interface Snapshot {
  readonly store: 'embedded' | 'mongodb'
  readonly consistency: Consistency
  database(name: string): DatabaseSnapshot
  close(): Promise<void>
}

/** Empty databases that are filled from a backup. No process can start on them before `finish`. */
export interface RestoreTarget {
  open(database: string): Promise<Store>
  /** Makes the databases those of the system. All stores must be closed. */
  finish(): Promise<void>
}
