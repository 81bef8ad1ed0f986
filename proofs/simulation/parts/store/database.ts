import { parseLayout } from '#lib/store/layout.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import { type Change, createMemoryCollection, type MemoryCollection } from './memory-collection.ts'

/** The database of one role, as its servers hold it. All processes of the role share it. */
export interface Database {
  readonly name: string
  readonly blobs: Map<string, Uint8Array>
  /** The collection of a declaration, which is created when it does not exist. */
  collection(spec: CollectionSpec): MemoryCollection
  /** A collection by its name. */
  named(name: string): MemoryCollection | undefined
  collections(): Iterable<MemoryCollection>
}

/** Makes an empty database. `onChange` is called within each change of a document. */
export function createDatabase(
  name: string,
  onChange: (collection: string, change: Change) => void = () => {},
): Database {
  const collections = new Map<string, MemoryCollection>()
  return {
    name,
    blobs: new Map(),
    named: (collection) => collections.get(collection),
    collections: () => collections.values(),
    collection(spec) {
      const layout = parseLayout(spec)
      const existing = collections.get(layout.name)
      if (existing !== undefined) {
        existing.addIndexes(layout)
        return existing
      }
      const created = createMemoryCollection(layout, (change) => onChange(layout.name, change))
      collections.set(layout.name, created)
      return created
    },
  }
}
