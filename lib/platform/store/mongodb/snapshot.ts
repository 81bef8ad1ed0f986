import { type ClientSession, type Db, MongoServerError, ReadConcern } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import type { StartWait } from '#lib/platform/process/wait-for-server.ts'
import type { Body } from '#lib/platform/store/check.ts'
import { BlobGone } from '#lib/platform/store/errors.ts'
import { parseLayout } from '#lib/platform/store/layout.ts'
import type { DatabaseSnapshot, Snapshot, SnapshotBlob } from '#lib/platform/store/snapshot.ts'
import type { CollectionSpec } from '#lib/platform/store/store.ts'
import { clock } from '#lib/platform/time.ts'
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
 * Opens databases of a server. Where the server has snapshots, all reads are of one instant of the whole cluster. Where it
 * has none (FerretDB), each document is read as it is at that time, but every write that a majority had before.
 */
export async function openMongodbSnapshot(
  uri: Secret,
  databases: readonly string[],
  start_wait: StartWait,
): Promise<Snapshot> {
  const connection = { timeout_ms: TIMEOUT_MS, connections_max: CONNECTIONS_MAX, is_bounded: true }
  const { client } = await connectMongodb({ uri, ...connection, start_wait })
  const session = client.startSession({ snapshot: true })
  const snapshotOf = (name: string): Db =>
    client.db(name, { readPreference: 'primary', readConcern: new ReadConcern('snapshot') })
  try {
    // The first read fixes the instant. The driver notes it in the session, unless the server did not name one.
    await snapshotOf(databases[0] ?? 'admin')
      .collection('snapshot')
      .findOne({}, { session })
    const is_instant = 'snapshotTime' in session && session.snapshotTime !== undefined
    return {
      store: 'mongodb',
      consistency: is_instant ? 'instant' : 'ordered',
      database: (name) =>
        is_instant ? createPart(snapshotOf(name), session) : createPart(openDatabase(client, name)),
      async close() {
        await session.endSession()
        await client.close()
      },
    }
  } catch (error) {
    await client.close()
    throw explain(error)
  }
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
