import type { Body } from '#lib/store/check.ts'
import { Conflict, Duplicate } from '#lib/store/errors.ts'
import type { CountRange, IndexRange } from '#lib/store/index-range.ts'
import { expiryOf, keyText, type Layout, valueAt } from '#lib/store/layout.ts'
import { copyDocument } from './copy-document.ts'
import { createIndexes } from './memory-indexes.ts'

/** A document with its version. */
export type StoredBody = Body & { readonly version: number }

/** One change of a collection. `before` and `after` are `undefined` when the document did not exist. */
export interface Change {
  readonly key: string
  readonly before: StoredBody | undefined
  readonly after: StoredBody | undefined
}

/**
 * One collection as the server holds it. Every method is atomic. `now_ms` is the time by which the caller judges expiry.
 * The documents belong to the collection: callers copy them.
 */
export interface MemoryCollection {
  readonly layout: Layout
  /** Adds the indexes that a later release declares. */
  addIndexes(layout: Layout): void
  insert(document: StoredBody, now_ms: number): void
  replace(document: StoredBody, expected_version: number, now_ms: number): void
  delete(key: string, expected_version: number, now_ms: number): void
  get(key: string, now_ms: number): StoredBody | undefined
  find(ranges: readonly IndexRange[], now_ms: number): StoredBody[]
  count(range: CountRange): ReadonlyMap<string, number>
  /** Deletes what expired before a time, as the server's own sweeper does. */
  deleteExpired(now_ms: number): void
  /** All documents, expired ones too. */
  all(): Iterable<StoredBody>
  /** Replaces all documents, as a restore of the stopped system does. */
  reset(documents: Iterable<StoredBody>): void
  /** A copy of the present state, for reads from a server that no longer gets the writes. */
  snapshot(): ReadSource
}

/** What reads come from: the collection, or an earlier state of it. */
export type ReadSource = Pick<MemoryCollection, 'get' | 'find' | 'count'>

/** Makes an empty collection. `onChange` is called within each change. */
export function createMemoryCollection(
  layout: Layout,
  onChange: (change: Change) => void = () => {},
): MemoryCollection {
  const documents = new Map<string, StoredBody>()
  const indexes = createIndexes(layout, documents)

  const isLive = (document: StoredBody | undefined, now_ms: number): document is StoredBody =>
    document !== undefined && expiryOf(layout, document) > now_ms

  function put(key: string, after: StoredBody | undefined): void {
    const before = documents.get(key)
    if (after === undefined) documents.delete(key)
    else documents.set(key, after)
    indexes.update(key, before, after)
    onChange({ key, before, after })
  }

  /** Removes expired holders of the document's unique values. Throws `Duplicate` for a live one. */
  function makeRoom(key: string, document: StoredBody, now_ms: number): void {
    const expired = new Set<string>()
    for (const { holder, index } of indexes.holders(document)) {
      if (holder === key) continue
      if (isLive(documents.get(holder), now_ms)) throw new Duplicate(layout.name, index)
      expired.add(holder)
    }
    for (const holder of expired) put(holder, undefined)
  }

  function checkVersion(key: string, expected_version: number, now_ms: number): void {
    const current = documents.get(key)
    if (!isLive(current, now_ms) || current.version !== expected_version) {
      throw new Conflict(`${layout.name}: not at version ${expected_version}`)
    }
  }

  return {
    layout,
    addIndexes: indexes.add,
    find(ranges, now_ms) {
      const found: StoredBody[] = []
      for (const key of indexes.keysIn(ranges)) {
        const document = documents.get(key)
        if (isLive(document, now_ms)) found.push(document)
        if (found.length === ranges[0]?.limit) break
      }
      return found
    },
    count(range) {
      const counts = new Map<string, number>()
      const field = range.index.paths.at(-1) ?? []
      for (const key of indexes.keysIn([{ ...range, after: undefined, limit: 1, reverse: false }])) {
        const value = valueAt(documents.get(key) ?? {}, field)
        if (typeof value !== 'string') throw new TypeError(`${layout.name}: ${key} has no text to count by`)
        counts.set(value, (counts.get(value) ?? 0) + 1)
      }
      return counts
    },
    insert(document, now_ms) {
      const key = keyText(layout, document)
      if (isLive(documents.get(key), now_ms)) throw new Duplicate(layout.name, 'key')
      makeRoom(key, document, now_ms)
      put(key, document)
    },
    replace(document, expected_version, now_ms) {
      const key = keyText(layout, document)
      checkVersion(key, expected_version, now_ms)
      makeRoom(key, document, now_ms)
      put(key, document)
    },
    delete(key, expected_version, now_ms) {
      checkVersion(key, expected_version, now_ms)
      put(key, undefined)
    },
    get(key, now_ms) {
      const document = documents.get(key)
      return isLive(document, now_ms) ? document : undefined
    },
    deleteExpired(now_ms) {
      if (layout.expires === undefined) return
      for (const [key, document] of documents) if (!isLive(document, now_ms)) put(key, undefined)
    },
    all: () => documents.values(),
    reset(restored) {
      for (const key of [...documents.keys()]) put(key, undefined)
      for (const document of restored) put(keyText(layout, document), document)
    },
    snapshot: () => copyOf(layout, documents.values()),
  }
}

function copyOf(layout: Layout, documents: Iterable<StoredBody>): MemoryCollection {
  const copy = createMemoryCollection(layout)
  for (const document of documents) {
    copy.insert(copyDocument(document).document, Number.NEGATIVE_INFINITY)
  }
  return copy
}
