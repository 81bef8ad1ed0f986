import type { Layout } from '#lib/platform/store/layout.ts'
import { type KeyPrefixes, markComplete } from './catalog.ts'
import type { Documents } from './documents.ts'
import type { LmdbEnvironment } from './environment.ts'
import { documentOf } from './record.ts'
import type { PlannedWrite } from './writer.ts'

const GROUP_MAX = 200

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
  const end = `${prefixes.collection}${prefixes.documents}!`
  let start: string | undefined = first
  while (start !== undefined) {
    const from: string = start
    const range = { start: from, end, limit: GROUP_MAX, exclusiveStart: from !== first }
    const keys = environment.read(() => [...table.getKeys(range)])
    for (const key of keys.map((found) => found.slice(first.length))) {
      await environment.write(() => rewriting(documents, key))
    }
    start = keys.at(-1)
  }
  await environment.write(() => ({ result: undefined, apply: () => markComplete(table, layout, prefixes) }))
}

function rewriting(documents: Documents, key: string): PlannedWrite<void> {
  const header = documents.header(key)
  const record = documents.read(key)
  if (header === undefined || record === undefined) return { result: undefined }
  return { result: undefined, apply: documents.planPut(documents.prepare(key, documentOf(record)), header) }
}
