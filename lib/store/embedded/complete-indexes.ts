import type { Layout } from '../layout.ts'
import { type KeyPrefixes, markComplete } from './catalog.ts'
import type { Documents } from './documents.ts'
import type { LmdbEnvironment } from './environment.ts'
import { documentOf } from './record.ts'
import type { PlannedWrite } from './writer.ts'

/** Keys that are read at once, so that a large collection does not have to fit into memory. */
const KEYS_READ_MAX = 200

/**
 * Writes the index entries that the present declaration requires for every document of a collection. It can be
 * interrupted anywhere and repeated: the collection counts as complete only after the last document. Throws `Duplicate`
 * when existing documents violate a new unique index.
 */
export async function completeIndexes(
  environment: LmdbEnvironment,
  layout: Layout,
  prefixes: KeyPrefixes,
  documents: Documents,
): Promise<void> {
  const { table } = environment
  const first = documents.documentKey('')
  // `!` is the next character after the space that ends the prefix of all keys of documents.
  const end = `${prefixes.collection}${prefixes.documents}!`
  let start: string | undefined = first
  while (start !== undefined) {
    const from: string = start
    const range = { start: from, end, limit: KEYS_READ_MAX, exclusiveStart: from !== first }
    const keys = environment.read(() => [...table.getKeys(range)])
    // Together they share commits, and each commit is a flush.
    await Promise.all(
      keys.map((key) => environment.write(() => planRewrite(documents, key.slice(first.length)))),
    )
    start = keys.at(-1)
  }
  await environment.write(() => ({ result: undefined, apply: () => markComplete(table, layout, prefixes) }))
}

/** Plans to put a document again, unchanged: that adds the index entries that its record does not have yet. */
function planRewrite(documents: Documents, key: string): PlannedWrite<void> {
  const header = documents.header(key)
  const record = documents.read(key)
  if (header === undefined || record === undefined) return { result: undefined }
  return { result: undefined, apply: documents.planPut(documents.prepare(key, documentOf(record)), header) }
}
