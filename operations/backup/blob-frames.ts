import { BlobGone } from '#lib/store/errors.ts'
import type { SnapshotBlob } from '#lib/store/maintenance.ts'

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
