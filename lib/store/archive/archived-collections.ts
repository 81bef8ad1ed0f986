import { clock } from '#lib/base/time.ts'
import type { CollectionSpec, Store, Stored } from '../store.ts'
import type { ArchiveReader } from './archive-reader.ts'
import { type ArchivedSpec, blockOf, isStub, wholeOf } from './archived-document.ts'

/** Whether the documents of a collection can be archived. */
export function isArchived(spec: CollectionSpec): spec is ArchivedSpec {
  return spec.archive !== undefined
}

/** The whole document of what is stored: the document itself, or a stub with the body that `reader` finds. */
export async function readWhole<D extends object>(
  spec: ArchivedSpec,
  stored: D,
  reader: ArchiveReader,
  page_began_ms?: number,
): Promise<D> {
  if (!isStub(stored)) return stored
  spec.archive.verifyStub?.(stored)
  // The body is what was taken out of a `D`.
  return wholeOf(stored, await reader.readBody(spec, stored, page_began_ms)) as D
}

/** One block after another: so a page takes one turn of the reads at a time, and no other caller waits until its last block. */
async function allWhole<D extends object>(
  found: readonly D[],
  whole: (stored: D, page_began_ms: number) => Promise<D>,
): Promise<D[]> {
  const all = [...found]
  const began_ms = clock.monotonic_ms()
  for (const block of Map.groupBy(found.entries(), ([, stored]) => blockOf(stored)).values())
    await Promise.all(
      block.map(async ([at, stored]) => {
        all[at] = await whole(stored, began_ms)
      }),
    )
  return all
}

/**
 * The store in which archived documents are whole: `get` and `find` load the bodies of stubs, and throw `ArchiveUnavailable` when one
 * cannot be read. A replacement stores the whole document again, without its place in the archive, where its line is not
 * used any more. A count needs no body.
 */
export function withArchive(store: Store, reader: ArchiveReader): Store {
  return {
    ...store,
    async collection<D extends object>(spec: CollectionSpec) {
      const collection = await store.collection<D>(spec)
      if (!isArchived(spec)) return collection
      const whole = (stored: Stored<D>, page_began_ms?: number): Promise<Stored<D>> =>
        readWhole(spec, stored, reader, page_began_ms)
      return {
        ...collection,
        async get(key, options) {
          const stored = await collection.get(key, options)
          return stored === undefined || options?.without_body ? stored : await whole(stored)
        },
        async find(index, range, options) {
          const found = await collection.find(index, range, options)
          return options.without_body || !found.some(isStub) ? found : await allWhole(found, whole)
        },
      }
    },
  }
}
