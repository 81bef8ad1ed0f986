import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Blobs } from '#lib/store/store.ts'

/** The bytes of an upload from the beginning. Throws `Unavailable` when they are not there, which no attachment expects. */
export async function readBytes(files: Blobs, blob_id: string): Promise<AsyncIterable<Uint8Array>> {
  const bytes = await files.get(blob_id)
  if (bytes === undefined) throw new Unavailable(`the bytes of the upload ${blob_id} are missing`)
  return bytes
}
