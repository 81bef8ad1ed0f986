import type { Index, Layout } from '../layout.ts'
import type { Table } from './environment.ts'
import type { PlannedWrite } from './writer.ts'

/**
 * The key prefixes of a collection in the LMDB table: one for its documents and one per index. The prefix of a unique
 * index begins with `u`. That of any other index begins with `i`, and its entries end with the document's key.
 */
export interface KeyPrefixes {
  readonly documents: string
  /** In the order of the collection's indexes. */
  readonly indexes: readonly { readonly index: Index; readonly prefix: string }[]
  /** The common start of all prefixes of this collection. */
  readonly collection: string
}

interface IndexRegistration {
  readonly prefix: string
  readonly definition: string
}

interface CatalogEntry {
  readonly collection_number: number
  readonly prefixes_used: number
  /** Whether all documents have their entries in all of these indexes. */
  readonly complete: boolean
  readonly indexes: Readonly<Record<string, IndexRegistration>>
}

const CATALOG = 'catalog'
const COUNT = 'collections'
const DOCUMENTS = 'd'

/**
 * Plans the registration of a collection and its indexes. A new or changed index gets a prefix that was never used, so
 * that it never reads entries of an earlier definition.
 */
export function planRegistration(
  table: Table,
  layout: Layout,
): PlannedWrite<{ prefixes: KeyPrefixes; complete: boolean }> {
  const before = readEntry(table, layout.name)
  const collection_number = before?.collection_number ?? collectionsUsed(table) + 1
  let prefixes_used = before?.prefixes_used ?? 0
  const indexes: Record<string, IndexRegistration> = {}
  for (const index of layout.indexes) {
    const definition = definitionOf(index)
    const known = before?.indexes[index.name]
    if (known?.definition === definition) {
      indexes[index.name] = known
    } else {
      prefixes_used += 1
      indexes[index.name] = { prefix: `${index.unique ? 'u' : 'i'}${prefixes_used}`, definition }
    }
  }
  const registered = layout.indexes.map((index) => ({ index, prefix: indexes[index.name]?.prefix ?? '' }))
  const prefixes = { documents: DOCUMENTS, indexes: registered, collection: `${collection_number}.` }
  if (before !== undefined && samePrefixes(before.indexes, indexes)) {
    return { result: { prefixes, complete: before.complete } }
  }
  return {
    result: { prefixes, complete: false },
    apply() {
      if (before === undefined) putText(table, `${CATALOG} ${COUNT}`, String(collection_number))
      writeEntry(table, layout.name, { collection_number, prefixes_used, complete: false, indexes })
    },
  }
}

/** The names of all collections that were ever registered. */
export function listRegistered(table: Table): readonly string[] {
  const start = `${CATALOG} =`
  return [...table.getKeys({ start, end: `${CATALOG} >` })].map((key) => key.slice(start.length))
}

/** The common start of the keys of a collection's documents; `undefined` for a collection that was never registered. */
export function documentsPrefixOf(table: Table, name: string): string | undefined {
  const entry = readEntry(table, name)
  return entry && `${entry.collection_number}.${DOCUMENTS} `
}

/** Records that all documents of the collection have their index entries. Call it inside a write. */
export function markComplete(table: Table, layout: Layout, prefixes: KeyPrefixes): void {
  const entry = readEntry(table, layout.name)
  const same = prefixes.indexes.every(({ index, prefix }) => entry?.indexes[index.name]?.prefix === prefix)
  if (entry !== undefined && same) writeEntry(table, layout.name, { ...entry, complete: true })
}

function definitionOf(index: Index): string {
  return JSON.stringify([index.paths, index.many, index.unique, index.where ?? null])
}

function samePrefixes(
  before: Readonly<Record<string, IndexRegistration>>,
  after: Readonly<Record<string, IndexRegistration>>,
): boolean {
  const names = Object.keys(after)
  if (names.length !== Object.keys(before).length) return false
  return names.every((name) => before[name]?.prefix === after[name]?.prefix)
}

function collectionsUsed(table: Table): number {
  const text = table.getBinary(`${CATALOG} ${COUNT}`)
  return text === undefined ? 0 : Number(Buffer.from(text).toString())
}

function readEntry(table: Table, name: string): CatalogEntry | undefined {
  const text = table.getBinary(`${CATALOG} =${name}`)
  // Only `writeEntry` writes this text.
  return text === undefined ? undefined : (JSON.parse(Buffer.from(text).toString()) as CatalogEntry)
}

function writeEntry(table: Table, name: string, entry: CatalogEntry): void {
  putText(table, `${CATALOG} =${name}`, JSON.stringify(entry))
}

function putText(table: Table, key: string, text: string): void {
  // Inside a write, a put is done when it returns, so its promise needs no await.
  void table.put(key, Buffer.from(text))
}
