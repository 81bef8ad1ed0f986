import type { Body } from '../check.ts'
import { Duplicate } from '../errors.ts'
import { expiryOf, type Index, keyText } from '../layout.ts'
import type { Deadline } from './calls.ts'
import type { MongoCollection, StoredDocument } from './documents.ts'
import { duplicateIndexName, isDuplicate } from './failures.ts'
import { holderFilter, keyFilter } from './filters.ts'

/**
 * Runs a write of a document with unique values. After a duplicate error it reads the holder of the values: a
 * majority-committed holder gives `Duplicate`; an expired one is deleted; one that cannot be read (not committed yet,
 * rolled back, or just deleted) is waited for, and the write is tried again. Throws `Unavailable` when time runs out;
 * nothing was written then.
 */
export async function writeUnique(
  target: MongoCollection,
  document: Body,
  write: (deadline: Deadline) => Promise<void>,
): Promise<void> {
  const deadline = target.calls.startDeadline()
  while (true) {
    try {
      await write(deadline)
      return
    } catch (error) {
      if (!isDuplicate(error)) throw error
      const held = await findHolder(target, document, duplicateIndexName(error, target.layout), deadline)
      if (held === undefined) await deadline.pause()
      else if (isLive(target, held.holder)) throw new Duplicate(target.layout.name, held.index.name)
      else await removeExpired(target, held.holder, deadline)
    }
  }
}

/** Whether a document has not expired. */
function isLive({ layout, now_ms }: MongoCollection, document: StoredDocument): boolean {
  return expiryOf(layout, document) > now_ms()
}

/** Deletes an expired document at the version that was read, never a later document with the same key. */
async function removeExpired(
  { documents, layout, calls }: MongoCollection,
  expired: StoredDocument,
  deadline: Deadline,
): Promise<void> {
  const { expires = '' } = layout
  const filter = { ...keyFilter(layout, expired), version: expired['version'], [expires]: expired[expires] }
  await calls.write((options) => documents.deleteOne(filter, options), deadline)
}

/** The holder of a unique value of `document`: in the index that the error names, otherwise in any index. */
async function findHolder(
  { documents, layout, calls }: MongoCollection,
  document: Body,
  named: string | undefined,
  deadline: Deadline,
): Promise<{ readonly holder: StoredDocument; readonly index: Index } | undefined> {
  const unique = [layout.identity, ...layout.indexes.filter((index) => index.unique)]
  const candidates = unique.filter((index) => index.name === named)
  for (const index of candidates.length > 0 ? candidates : unique) {
    const filter = index === layout.identity ? keyFilter(layout, document) : holderFilter(index, document)
    if (filter === undefined) continue
    const found = await calls.read(
      (options) => documents.find(filter, { ...options, limit: 2 }).toArray(),
      deadline,
    )
    // The document's own earlier version does not block its replacement.
    const own = index === layout.identity ? undefined : keyText(layout, document)
    const holder = found.find(({ _id }) => _id !== own)
    if (holder !== undefined) return { holder, index }
  }
  return undefined
}
