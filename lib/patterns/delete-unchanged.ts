import { Conflict } from '#lib/store/errors.ts'
import type { Collection, Fields } from '#lib/store/store.ts'

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
