import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { systemErrorCode, withPath } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { BlobGone } from '#lib/store/errors.ts'
import type { SnapshotBlob } from '#lib/store/maintenance.ts'
import type { ChangeBlocks } from './encryption.ts'

/** A file of a backup as it was written: its size, the number of its frames, and the SHA-256 of its bytes. */
interface FrameFile {
  readonly bytes: number
  readonly frames: number
  readonly sha256: string
}

const LENGTH_BYTES = 4
/** Above the largest document and the largest piece of a blob. */
const FRAME_BYTES_MAX = 16 * 1024 ** 2
/** Some seconds of work. */
const PROGRESS_EVERY = 50_000
const BLOCK_BYTES = 256 * 1024

/**
 * Writes a new file, readable by its owner only: each frame after its length, encrypted by `encrypt`. Size and SHA-256 are of the
 * bytes in the file. The content is durable when the promise resolves; the name of the file is durable once its directory was
 * flushed, as `writeManifest` does. Calls `onCreated` once the file is its own. Throws as `createFile` does.
 */
export async function writeFrames(
  path: string,
  frames: AsyncIterable<Uint8Array>,
  encrypt: ChangeBlocks,
  onCreated?: (path: string) => void,
): Promise<FrameFile> {
  const handle = await createFile(path)
  onCreated?.(path)
  try {
    const hash = createHash('sha256')
    let [bytes, count] = [0, 0]
    for await (const block of encrypt(blocksOf(frames, () => (count += 1)))) {
      hash.update(block)
      bytes += block.length
      await handle.appendFile(block).catch(withPath(path))
    }
    await handle.sync().catch(withPath(path))
    return { bytes, frames: count, sha256: hash.digest('hex') }
  } finally {
    await handle.close()
  }
}

/** Creates a file of a backup, readable by its owner only. Throws `StartError` when it exists: another run has created it. */
export async function createFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error
    throw new StartError(`another backup has created ${path}: name a new directory for each backup`)
  }
}

/** Frames after their lengths, some together in a block. */
async function* blocksOf(frames: AsyncIterable<Uint8Array>, count: () => void): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = []
  let waiting_bytes = 0
  for await (const frame of frames) {
    if (frame.length > FRAME_BYTES_MAX) throw new TypeError(`a frame has ${frame.length} bytes`)
    const length = Buffer.allocUnsafe(LENGTH_BYTES)
    length.writeUInt32BE(frame.length)
    waiting.push(length, frame)
    waiting_bytes += LENGTH_BYTES + frame.length
    count()
    if (waiting_bytes < BLOCK_BYTES) continue
    yield Buffer.concat(waiting)
    waiting = []
    waiting_bytes = 0
  }
  yield Buffer.concat(waiting)
}

/** The frames of a file that `writeFrames` has written. Throws `Unavailable` when it ends within a frame. */
export async function* readFrames(path: string, decrypt: ChangeBlocks): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const block of decrypt(readBlocks(path))) {
    rest = Buffer.concat([rest, block])
    let at = 0
    for (let end = endOfFrame(rest, at, path); end <= rest.length; end = endOfFrame(rest, at, path)) {
      yield rest.subarray(at + LENGTH_BYTES, end)
      at = end
    }
    rest = rest.subarray(at)
  }
  if (rest.length > 0) throw new Unavailable(`${path} is damaged: it ends within a frame`)
}

/** The same frames. Reports their number from time to time. */
export async function* withProgress<F>(
  frames: AsyncIterable<F>,
  report: (count: number) => void,
): AsyncGenerator<F> {
  let count = 0
  for await (const frame of frames) {
    count += 1
    if (count % PROGRESS_EVERY === 0) report(count)
    yield frame
  }
}

/** The size and the SHA-256 of a file. */
export async function digestFile(path: string): Promise<Pick<FrameFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const block of readBlocks(path)) {
    hash.update(block)
    bytes += block.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** The bytes of a file in blocks. */
export function readBlocks(path: string): AsyncIterable<Buffer> {
  return createReadStream(path, { highWaterMark: BLOCK_BYTES })
}

/** The position after the frame at `at`; infinity while its length is not read. */
function endOfFrame(block: Buffer, at: number, path: string): number {
  if (block.length < at + LENGTH_BYTES) return Number.POSITIVE_INFINITY
  const length = block.readUInt32BE(at)
  if (length > FRAME_BYTES_MAX) throw new Unavailable(`${path} is damaged: a frame has ${length} bytes`)
  return at + LENGTH_BYTES + length
}

/** What a frame of a file of blobs holds, by its first byte. A blob is its id, its pieces, and one of the ends. */
const KIND = { id: 1, piece: 2, complete: 3, gone: 4 } as const

/** The frames of blobs. A blob that is deleted while it is read gets the end `gone`. */
export async function* framesOfBlobs(blobs: AsyncIterable<SnapshotBlob>): AsyncGenerator<Uint8Array> {
  for await (const { id, bytes } of blobs) {
    yield frame(KIND.id, Buffer.from(id))
    try {
      for await (const piece of bytes) yield frame(KIND.piece, piece)
      yield frame(KIND.complete)
    } catch (error) {
      if (!(error instanceof BlobGone)) throw error
      yield frame(KIND.gone)
    }
  }
}

/** The blobs of frames. The bytes of one throw `BlobGone` at the end when they are not complete. */
export async function* blobsOfFrames(frames: AsyncGenerator<Buffer>): AsyncGenerator<SnapshotBlob> {
  for (;;) {
    const { value: head, done } = await frames.next()
    if (done) return
    const id = head.subarray(1).toString()
    if (head[0] !== KIND.id) throw new TypeError('a blob begins with its id')
    yield { id, bytes: piecesOf(id, frames) }
  }
}

async function* piecesOf(id: string, frames: AsyncGenerator<Buffer>): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { value: next, done } = await frames.next()
    if (done || next[0] === KIND.complete) return
    if (next[0] !== KIND.piece) throw new BlobGone(`the blob ${id} was deleted during the backup`)
    yield next.subarray(1)
  }
}

function frame(kind: (typeof KIND)[keyof typeof KIND], content: Uint8Array = new Uint8Array()): Uint8Array {
  return Buffer.concat([Uint8Array.of(kind), content])
}
