import { type Collection, type Db, type Document, ObjectId } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { BLOB_BYTES_MAX, checkBlobId, checkBlobName } from '#lib/platform/store/blob.ts'
import { Duplicate } from '#lib/platform/store/errors.ts'
import type { Blobs } from '#lib/platform/store/store.ts'
import { clock, now } from '#lib/platform/time.ts'
import type { MongoCalls } from './calls.ts'
import { isDuplicate } from './failures.ts'
import type { NamedIndex } from './indexes.ts'

const CHUNK_BYTES = 255 * 1_024
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1_000
const ABANDONED_MAX = 100
const REMOVE_MAX = 100

/** The index of each collection of blobs that has one. */
export const BUCKET_INDEXES = {
  files: { name: 'by_filename', key: { filename: 1 }, unique: true },
  chunks: { name: 'by_file', key: { files_id: 1, n: 1 }, unique: true },
} as const satisfies Readonly<Record<string, NamedIndex>>

/** A piece of a file. */
export interface BucketChunk {
  readonly _id: ObjectId
  readonly files_id: ObjectId
  readonly n: number
  readonly data: Uint8Array
}

/** A complete file. It is inserted after its chunks. */
export interface BucketFile {
  readonly _id: ObjectId
  readonly filename: string
  readonly length: number
  readonly chunkSize: number
  readonly uploadDate: Date
}

/** An upload in progress, or a file that is being deleted. Its chunks are garbage unless its file exists. */
interface UnfinishedMark {
  readonly _id: ObjectId
  readonly since: Date
}

/** The collections of blobs with a name. */
interface BucketCollections {
  readonly files: Collection<BucketFile>
  readonly chunks: Collection<BucketChunk>
  readonly unfinished: Collection<UnfinishedMark>
}

interface Bucket extends BucketCollections {
  readonly name: string
  readonly calls: MongoCalls
}

/** Builds or verifies the indexes of one collection. */
type PrepareIndexes = <T extends Document>(
  documents: Collection<T>,
  indexes: readonly NamedIndex[],
) => Promise<void>

/**
 * Blobs in the layout of GridFS. Every put stores its chunks under its own id and then inserts the file, whose name is
 * unique. So an interrupted put is invisible, and exactly one of several puts of one blob succeeds. The driver's own
 * streams are not used, because they limit a whole transfer by the time limit of one call.
 */
export async function openGridFs(
  db: Db,
  name: string,
  calls: MongoCalls,
  prepareIndexes: PrepareIndexes,
): Promise<Blobs> {
  checkBlobName(name)
  const bucket: Bucket = { name, ...bucketOf(db, name), calls }
  await prepareIndexes(bucket.files, [BUCKET_INDEXES.files])
  await prepareIndexes(bucket.chunks, [BUCKET_INDEXES.chunks])
  await removeAbandoned(bucket)
  return {
    put: async (id, bytes) => put(bucket, checkBlobId(id), bytes),
    async get(id) {
      const file = await findFile(bucket, checkBlobId(id))
      return file === null ? undefined : readChunks(bucket, file)
    },
    async delete(id) {
      const file = await findFile(bucket, checkBlobId(id))
      if (file === null) return
      await begin(bucket, file._id)
      await calls.write((options) => bucket.files.deleteOne({ _id: file._id }, options))
      await removeUnfinished(bucket, file._id)
    },
  }
}

/** The collections that hold the blobs with a name. */
export function bucketOf(db: Db, name: string): BucketCollections {
  return {
    files: db.collection<BucketFile>(`${name}.files`),
    chunks: db.collection<BucketChunk>(`${name}.chunks`),
    unfinished: db.collection<UnfinishedMark>(`${name}.unfinished`),
  }
}

async function put(bucket: Bucket, id: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  if ((await findFile(bucket, id)) !== null) throw new Duplicate(bucket.name, 'key')
  const file_id = new ObjectId()
  await begin(bucket, file_id)
  let has_source_failed = false
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes
    } catch (error) {
      has_source_failed = true
      throw error
    }
  }
  let length: number
  try {
    length = await writeChunks(bucket, file_id, source())
    await publish(bucket, { _id: file_id, filename: id, length, chunkSize: CHUNK_BYTES, uploadDate: now() })
  } catch (error) {
    // A write whose result is unknown may still have an effect, so its chunks stay. A later start of the service checks
    // whether the file exists, and cleans up. While the source fails, no write is in progress.
    if (has_source_failed || !(error instanceof Unavailable)) await removeUnfinished(bucket, file_id)
    throw error
  }
  await end(bucket, file_id)
  return length
}

async function publish({ name, files, calls }: Bucket, file: BucketFile): Promise<void> {
  const deadline = calls.startDeadline()
  while (true) {
    try {
      await calls.write((options) => files.insertOne(file, options), deadline)
      return
    } catch (error) {
      if (!isDuplicate(error)) throw error
      const { filename } = file
      const holder = await calls.read((options) => files.findOne({ filename }, options), deadline)
      if (holder !== null) throw new Duplicate(name, 'key')
      await deadline.pause()
    }
  }
}

async function writeChunks(
  { chunks, calls }: Bucket,
  files_id: ObjectId,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  let length = 0
  let n = 0
  for await (const data of piecesOf(bytes, CHUNK_BYTES)) {
    length += data.length
    if (length > BLOB_BYTES_MAX) throw new TypeError(`a blob holds at most ${BLOB_BYTES_MAX} bytes`)
    const chunk = { _id: new ObjectId(), files_id, n, data }
    await calls.write((options) => chunks.insertOne(chunk, options))
    n += 1
  }
  return length
}

async function* readChunks({ chunks, calls }: Bucket, file: BucketFile): AsyncGenerator<Uint8Array> {
  const files_id = file._id
  for (let n = 0; n * file.chunkSize < file.length; n += 1) {
    const place = { files_id, n }
    const chunk = await calls.read((options) => chunks.findOne(place, options))
    if (chunk === null) throw new Unavailable(`blob ${file.filename} was deleted while it was read`)
    yield chunk.data
  }
}

function findFile({ files, calls }: Bucket, filename: string): Promise<BucketFile | null> {
  return calls.read((options) => files.findOne({ filename }, options))
}

async function begin({ unfinished, calls }: Bucket, file_id: ObjectId): Promise<void> {
  const record = { since: now() }
  // An upsert without a guard, because writing it twice has the same effect as once.
  await calls.write((options) =>
    unfinished.updateOne({ _id: file_id }, { $set: record }, { ...options, upsert: true }),
  )
}

async function end({ unfinished, calls }: Bucket, file_id: ObjectId): Promise<void> {
  await calls.write((options) => unfinished.deleteOne({ _id: file_id }, options))
}

async function removeUnfinished(bucket: Bucket, files_id: ObjectId): Promise<void> {
  const { chunks, calls } = bucket
  while (true) {
    const some = await calls.read((options) =>
      chunks
        .find({ files_id }, { ...options, sort: { n: 1 }, limit: REMOVE_MAX, projection: { n: 1 } })
        .toArray(),
    )
    const last = some.at(-1)
    if (last === undefined) break
    await calls.write((options) => chunks.deleteMany({ files_id, n: { $lte: last.n } }, options))
  }
  await end(bucket, files_id)
}

async function removeAbandoned(bucket: Bucket): Promise<void> {
  const { files, unfinished, calls } = bucket
  const filter = { since: { $lt: new Date(clock.now_ms() - ABANDONED_AFTER_MS) } }
  const found = await calls.read((options) =>
    unfinished.find(filter, { ...options, limit: ABANDONED_MAX }).toArray(),
  )
  for (const { _id: file_id } of found) {
    const file = await calls.read((options) => files.findOne({ _id: file_id }, options))
    if (file === null) await removeUnfinished(bucket, file_id)
    else await end(bucket, file_id)
  }
}

/** The same bytes in pieces of `size_bytes`; the last piece may be shorter. */
async function* piecesOf(bytes: AsyncIterable<Uint8Array>, size_bytes: number): AsyncGenerator<Uint8Array> {
  let piece = Buffer.allocUnsafe(size_bytes)
  let filled = 0
  for await (const part of bytes) {
    for (let at = 0; at < part.length; ) {
      const taken = part.subarray(at, at + size_bytes - filled)
      piece.set(taken, filled)
      filled += taken.length
      at += taken.length
      if (filled < size_bytes) continue
      yield piece
      piece = Buffer.allocUnsafe(size_bytes)
      filled = 0
    }
  }
  if (filled > 0) yield piece.subarray(0, filled)
}
