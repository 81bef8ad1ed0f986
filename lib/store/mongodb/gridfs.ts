import { type Collection, type Db, type Document, ObjectId } from 'mongodb'
import { every, now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from '#lib/telemetry/log.ts'
import { BLOB_BYTES_MAX, checkBlobId, checkBlobName } from '../check.ts'
import { Duplicate } from '../errors.ts'
import type { Blobs } from '../store.ts'
import type { MongoCalls } from './calls.ts'
import { isDuplicate } from './failures.ts'
import type { NamedIndex } from './indexes.ts'

const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1_000
const SWEEP_INTERVAL_MS = 60 * 60 * 1_000
const MARKS_MAX = 100
const REMOVE_MAX = 100

/** Marks the chunks of a file as garbage, until the mark is removed or a sweep finds the file. */
async function markUnfinished({ unfinished, calls, now_ms }: Bucket, file_id: ObjectId): Promise<void> {
  const record = { since: new Date(now_ms()) }
  // An upsert without a guard, because writing it twice has the same effect as once.
  await calls.write((options) =>
    unfinished.updateOne({ _id: file_id }, { $set: record }, { ...options, upsert: true }),
  )
}

/** Removes the mark of a file whose chunks are not garbage. */
async function removeMark({ unfinished, calls }: Bucket, file_id: ObjectId): Promise<void> {
  await calls.write((options) => unfinished.deleteOne({ _id: file_id }, options))
}

/** Removes the chunks of a file that does not exist, and then its mark. */
async function removeChunks(bucket: Bucket, files_id: ObjectId): Promise<void> {
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
  await removeMark(bucket, files_id)
}

/**
 * Removes, now and every hour, the chunks of uploads and deletions that ended more than a day ago without finishing. What
 * cannot be removed is logged and tried again in the next hour.
 */
function sweepUnfinished(bucket: Bucket) {
  let is_stopped = false
  const sweeps = every(
    SWEEP_INTERVAL_MS,
    () => removeAbandoned(bucket, () => is_stopped),
    (error) =>
      log.warn({ collection: bucket.name, error }, 'unfinished blobs could not be listed; trying again'),
    0,
  )
  return {
    /** Ends the removal. Resolves when it does not use the store any more. */
    stop(): Promise<void> {
      is_stopped = true
      return sweeps.stop()
    },
  }
}

async function removeAbandoned(bucket: Bucket, isStopped: () => boolean): Promise<void> {
  const { unfinished, calls, now_ms } = bucket
  const since = { $lt: new Date(now_ms() - ABANDONED_AFTER_MS) }
  let last: ObjectId | undefined
  while (!isStopped()) {
    const filter = last === undefined ? { since } : { since, _id: { $gt: last } }
    const marks = await calls.read((options) =>
      unfinished.find(filter, { ...options, sort: { _id: 1 }, limit: MARKS_MAX }).toArray(),
    )
    for (const { _id: file_id } of marks) {
      if (isStopped()) return
      await removeIfAbsent(bucket, file_id).catch((error: unknown) =>
        log.warn({ collection: bucket.name, error }, 'an unfinished blob could not be removed; trying again'),
      )
    }
    last = marks.at(-1)?._id
    if (last === undefined) return
  }
}

async function removeIfAbsent(bucket: Bucket, file_id: ObjectId): Promise<void> {
  const { files, calls } = bucket
  const file = await calls.read((options) => files.findOne({ _id: file_id }, options))
  if (file === null) await removeChunks(bucket, file_id)
  else await removeMark(bucket, file_id)
}

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

interface BucketCollections {
  readonly files: Collection<BucketFile>
  readonly chunks: Collection<BucketChunk>
  readonly unfinished: Collection<UnfinishedMark>
}

interface Bucket extends BucketCollections {
  readonly name: string
  readonly calls: MongoCalls
  /** The time of the server, by which all processes judge the age of what is unfinished. */
  readonly now_ms: () => number
}

/** The collections that hold the blobs with a name. */
export function bucketOf(db: Db, name: string): BucketCollections {
  return {
    files: db.collection<BucketFile>(`${name}.files`),
    chunks: db.collection<BucketChunk>(`${name}.chunks`),
    unfinished: db.collection<UnfinishedMark>(`${name}.unfinished`),
  }
}

const CHUNK_BYTES = 255 * 1_024

type PrepareIndexes = <T extends Document>(
  documents: Collection<T>,
  indexes: readonly NamedIndex[],
) => Promise<void>

/** The blobs with a name. */
export type GridFs = Awaited<ReturnType<typeof openGridFs>>

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
  now_ms: () => number,
) {
  checkBlobName(name)
  const bucket: Bucket = { name, ...bucketOf(db, name), calls, now_ms }
  await prepareIndexes(bucket.files, [BUCKET_INDEXES.files])
  await prepareIndexes(bucket.chunks, [BUCKET_INDEXES.chunks])
  const sweep = sweepUnfinished(bucket)
  const blobs: Blobs = {
    put: async (id, bytes) => put(bucket, checkBlobId(id), bytes),
    async get(id) {
      const file = await findFile(bucket, checkBlobId(id))
      return file === null ? undefined : readChunks(bucket, file)
    },
    async delete(id) {
      const file = await findFile(bucket, checkBlobId(id))
      if (file === null) return
      await markUnfinished(bucket, file._id)
      await calls.write((options) => bucket.files.deleteOne({ _id: file._id }, options))
      await removeChunks(bucket, file._id)
    },
  }
  return {
    blobs,
    /** Ends the work in the background. Resolves when it does not use the store any more. */
    stop: () => sweep.stop(),
  }
}

async function put(bucket: Bucket, id: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  if ((await findFile(bucket, id)) !== null) throw new Duplicate(bucket.name, 'key')
  const file_id = new ObjectId()
  await markUnfinished(bucket, file_id)
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
    // A write whose result is unknown may still have an effect, so its chunks stay until a sweep has seen that the file does
    // not exist. While the source fails, no write is in progress.
    if (has_source_failed || !(error instanceof Unavailable))
      await leaveToSweep(removeChunks(bucket, file_id))
    throw error
  }
  await leaveToSweep(removeMark(bucket, file_id))
  return length
}

/** The result of a put is known before its mark is removed, so a failure of that does not change it. */
function leaveToSweep(removal: Promise<void>): Promise<void> {
  return removal.catch((error: unknown) =>
    log.warn({ error }, 'the mark of an unfinished blob was not removed; a later sweep removes it'),
  )
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
