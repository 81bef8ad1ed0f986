import { type ClientSession, type Db, type MongoClient, MongoServerError, ReadConcern } from 'mongodb'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { StartWait } from '#lib/telemetry/wait-for-server.ts'
import type { Body } from '../check.ts'
import { BlobGone } from '../errors.ts'
import { parseLayout } from '../layout.ts'
import type { Consistency, DatabaseSnapshot, Snapshot, SnapshotBlob } from '../maintenance.ts'
import type { CollectionSpec } from '../store.ts'
import { connectMongodb, openDatabase } from './connect.ts'
import { type StoredDocument, withoutId } from './documents.ts'
import { readFailure } from './failures.ts'
import { liveFilter } from './filters.ts'
import { type BucketChunk, type BucketFile, bucketOf } from './gridfs.ts'

const TIMEOUT_MS = 30_000
const CONNECTIONS_MAX = 5
const BATCH = 500
const SNAPSHOT_TOO_OLD = 239

/**
 * Opens databases of a server. `instant` is of one instant of the whole cluster, where the server has snapshots. Otherwise
 * each document is read as it is at that time, but with every write that a majority had before.
 */
export async function openMongodbSnapshot(
  uri: Secret,
  start_wait: StartWait,
  databases: readonly string[],
  consistency: Consistency,
): Promise<Snapshot> {
  const connection = {
    timeout_ms: TIMEOUT_MS,
    connections_max: CONNECTIONS_MAX,
    closes_silent_connections: true,
  }
  const { client } = await connectMongodb({ uri, ...connection, start_wait })
  const instant = consistency === 'instant' ? await openInstant(client, databases[0]) : undefined
  return {
    store: 'mongodb',
    consistency: instant === undefined ? 'ordered' : 'instant',
    database: (name) =>
      instant === undefined
        ? createPart(openDatabase(client, name))
        : createPart(snapshotOf(client, name), instant),
    async close() {
      await instant?.endSession()
      await client.close()
    },
  }
}

/**
 * The session whose reads are of one instant; `undefined` where the server has none. The first read fixes the instant.
 * Closes the client when it fails.
 */
async function openInstant(
  client: MongoClient,
  database: string | undefined,
): Promise<ClientSession | undefined> {
  const session = client.startSession({ snapshot: true })
  try {
    await snapshotOf(client, database ?? 'admin')
      .collection('snapshot')
      .findOne({}, { session })
  } catch (error) {
    await client.close()
    throw explain(error)
  }
  // The driver notes the instant in the session, unless the server did not name one.
  if ('snapshotTime' in session && session.snapshotTime !== undefined) return session
  await session.endSession()
  return undefined
}

function snapshotOf(client: MongoClient, name: string): Db {
  return client.db(name, { readPreference: 'primary', readConcern: new ReadConcern('snapshot') })
}

function createPart(db: Db, session?: ClientSession): DatabaseSnapshot {
  const options = { ...(session === undefined ? {} : { session }), batchSize: BATCH }
  return {
    async listStored() {
      const found = await db.listCollections({}, { nameOnly: true }).toArray()
      const own = found.map(({ name }) => name).filter((name) => !name.startsWith('system.'))
      return [...new Set(own.map((name) => name.replace(/\.(files|chunks|unfinished)$/, '')))]
    },
    readDocuments: (spec) => translated(readDocuments(db, spec, options)),
    readBlobs: (name) => translated(readBlobs(db, name, options)),
  }
}

/** The options of a cursor. */
interface CursorOptions {
  readonly session?: ClientSession
  readonly batchSize: number
}

async function* readDocuments(db: Db, spec: CollectionSpec, options: CursorOptions): AsyncGenerator<Body> {
  const layout = parseLayout(spec)
  const order = { sort: { _id: 1 }, hint: '_id_' } as const
  const documents = db.collection<StoredDocument>(layout.name)
  for await (const document of documents.find(liveFilter({ layout, now_ms: () => clock.now_ms() }), {
    ...options,
    ...order,
  }))
    yield withoutId(document)
}

async function* readBlobs(db: Db, name: string, options: CursorOptions): AsyncGenerator<SnapshotBlob> {
  const { files } = bucketOf(db, name)
  for await (const file of files.find({}, { ...options, sort: { _id: 1 } }))
    yield { id: file.filename, bytes: readChunks(bucketOf(db, name).chunks, file, options) }
}

async function* readChunks(
  chunks: ReturnType<typeof bucketOf>['chunks'],
  { _id: files_id, filename, length }: BucketFile,
  options: CursorOptions,
): AsyncGenerator<Uint8Array> {
  let read = 0
  const ordered = chunks.find({ files_id }, { ...options, batchSize: 16, sort: { n: 1 } })
  for await (const { data } of ordered as AsyncIterable<BucketChunk>) {
    read += data.length
    yield data
  }
  if (read !== length) throw new BlobGone(`the blob ${filename} was deleted while it was read`)
}

async function* translated<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    throw explain(error)
  }
}

function explain(error: unknown): unknown {
  if (error instanceof MongoServerError && error.code === SNAPSHOT_TOO_OLD)
    return new Unavailable(
      'MongoDB no longer has the instant of the snapshot: raise its parameter minSnapshotHistoryWindowInSeconds above the time that a backup takes',
      { cause: error },
    )
  return readFailure(error)
}
