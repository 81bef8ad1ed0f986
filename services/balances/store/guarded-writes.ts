import { upsert } from '#lib/patterns/update.ts'
import { Conflict } from '#lib/platform/store/errors.ts'
import type { Collection, Fields } from '#lib/platform/store/store.ts'

/**
 * Stores a document that states how far a shard has been processed, unless the stored one is as far or further. Several
 * processes may call it at the same time.
 */
export async function advance<D extends { readonly shard: number; readonly seq: bigint }>(
  collection: Collection<D>,
  document: D,
): Promise<void> {
  await upsert(collection, { shard: document.shard }, (current) =>
    current && current.seq >= document.seq ? undefined : document,
  )
}

/** Deletes this version of a document. A newer version stays. */
export async function deleteUnchanged<D extends object>(
  collection: Collection<D>,
  key: Fields,
  version: number,
): Promise<void> {
  try {
    await collection.delete(key, version)
  } catch (error) {
    if (!(error instanceof Conflict)) throw error
  }
}
