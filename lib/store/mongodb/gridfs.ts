import { type Collection, type Db, type Document, ObjectId } from 'mongodb'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from '#lib/telemetry/log.ts'
import { BLOB_BYTES_MAX, checkBlobId, checkBlobName } from '../blob.ts'
import { Duplicate } from '../errors.ts'
import type { Blobs } from '../store.ts'
import { BUCKET_INDEXES, type Bucket, type BucketFile, bucketOf } from './bucket.ts'
import type { MongoCalls } from './calls.ts'
import { isDuplicate } from './failures.ts'
import type { NamedIndex } from './indexes.ts'
import { markUnfinished, removeChunks, removeMark, sweepUnfinished } from './unfinished-blobs.ts'

const CHUNK_BYTES = 255 * 1_024

/** Builds or verifies the indexes of one collection. */
type PrepareIndexes = <T extends Document>(
  documents: Collection<T>,
  indexes: readonly NamedIndex[],
) => Promise<void>

/** The blobs with a name. */
export interface GridFs {
  readonly blobs: Blobs
  /** Ends the work in the background. Resolves when it does not use the store any more. */
  stop(): Promise<void>
}

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
): Promise<GridFs> {
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
  return { blobs, stop: () => sweep.stop() }
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
