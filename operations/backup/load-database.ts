import { join } from 'node:path'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Declarations } from '#lib/store/declarations.ts'
import { unpackBody } from '#lib/store/embedded/record.ts'
import { BlobGone } from '#lib/store/errors.ts'
import type { Blobs, Collection, Store } from '#lib/store/store.ts'
import { blobsOfFrames } from './blob-frames.ts'
import { digestFile, readFrames, withProgress } from './frames.ts'
import type { BackupContent } from './manifest.ts'

/** How many documents are written at once: together at most this many, and one, of the largest documents. */
const WRITES_MAX = 64

/**
 * Throws `Unavailable` unless the file is as it was written and its collection is declared. Nothing may be restored before
 * all files of a backup are checked.
 */
export async function checkContent(
  directory: string,
  { kind, name, role, file, bytes, sha256 }: BackupContent,
  { collections, blobs }: Declarations,
): Promise<void> {
  const is_known = kind === 'blobs' ? blobs.includes(name) : collections.some((spec) => spec.name === name)
  if (!is_known)
    throw new Unavailable(`this release has no collection ${name} of ${role}: use the release of the backup`)
  const path = join(directory, file)
  const found = await digestFile(path)
  if (found.bytes === bytes && found.sha256 === sha256) return
  throw new Unavailable(`${path} is damaged: use another backup`)
}

/** A file of a backup and where to write it. */
export interface LoadedContent {
  readonly store: Store
  readonly directory: string
  readonly content: BackupContent
  readonly declarations: Declarations
  printProgress(line: string): void
}

/** Writes a file of a backup into an empty collection. Documents get new versions. */
export async function loadContent(loaded: LoadedContent): Promise<void> {
  const { store, directory, declarations, printProgress } = loaded
  const { role, kind, name, file, frames: total } = loaded.content
  const report = (count: number): void => printProgress(`${role}: ${name}: ${count} of ${total}`)
  const frames = withProgress(readFrames(join(directory, file)), report)
  const spec = declarations.collections.find((one) => one.name === name)
  if (kind === 'blobs') await loadBlobs(await store.blobs(name), frames)
  else if (spec) await loadDocuments(await store.collection(spec), frames)
}

async function loadDocuments(collection: Collection<object>, frames: AsyncIterable<Buffer>): Promise<void> {
  const writes = new Set<Promise<unknown>>()
  let failure: unknown
  for await (const frame of frames) {
    const write: Promise<unknown> = collection
      .insert(unpackBody(frame))
      .catch((error: unknown) => {
        failure ??= error
      })
      .finally(() => writes.delete(write))
    writes.add(write)
    if (writes.size >= WRITES_MAX) await Promise.race(writes)
    if (failure !== undefined) break
  }
  await Promise.all(writes)
  if (failure !== undefined) throw failure
}

async function loadBlobs(blobs: Blobs, frames: AsyncGenerator<Buffer>): Promise<void> {
  for await (const { id, bytes } of blobsOfFrames(frames)) {
    try {
      await blobs.put(id, bytes)
    } catch (error) {
      if (!(error instanceof BlobGone)) throw error
    }
  }
}
