import type { Body } from '#lib/store/check.ts'
import { Duplicate } from '#lib/store/errors.ts'
import { type IndexRange, rangeBounds } from '#lib/store/index-range.ts'
import { keyPartsText } from '#lib/store/keys.ts'
import { entryTexts, type Index, type Layout } from '#lib/store/layout.ts'
import { createSortedEntries, type SortedEntries, sortable } from './sorted-entries.ts'

/** The indexes of one collection, and its key as the first of them. */
export interface MemoryIndexes {
  /** Adds the indexes that a later release declares. Throws `Duplicate` when documents violate a unique one. */
  add(layout: Layout): void
  /** Moves a document from its old entries to its new ones. */
  update(key: string, before: Body | undefined, after: Body | undefined): void
  /** The documents that have a unique value of this one, each with the name of the index. */
  holders(document: Body): Iterable<{ readonly holder: string; readonly index: string }>
  /** The keys of the documents of one or several ranges, in their order. */
  keysIn(ranges: readonly IndexRange[]): Iterable<string>
}

interface MemoryIndex {
  readonly index: Index
  readonly entries: SortedEntries
}

/** Makes the indexes of a collection over its documents. */
export function createIndexes(layout: Layout, documents: ReadonlyMap<string, Body>): MemoryIndexes {
  const indexes = new Map<string, MemoryIndex>()

  function addIndex(index: Index): void {
    const entries = createSortedEntries()
    for (const [key, document] of documents) {
      for (const text of entryTexts(index, document)) {
        const [holder] = index.unique ? entries.between(` ${text}`, ` ${text}!`, false) : []
        if (holder !== undefined) throw new Duplicate(layout.name, index.name)
        entries.add(positionText(index, text, key), key)
      }
    }
    indexes.set(index.name, { index, entries })
  }
  for (const index of [layout.identity, ...layout.indexes]) addIndex(index)

  return {
    add(later) {
      for (const index of later.indexes) if (!indexes.has(index.name)) addIndex(index)
    },
    update(key, before, after) {
      for (const { index, entries } of indexes.values()) {
        const old = before === undefined ? [] : positionsOf(index, key, before)
        const added = after === undefined ? [] : positionsOf(index, key, after)
        if (old.length === added.length && old.every((text, at) => text === added[at])) continue
        for (const text of old) entries.remove(text)
        for (const text of added) entries.add(text, key)
      }
    },
    *holders(document) {
      for (const { index, entries } of indexes.values()) {
        if (!index.unique || index.name === 'key') continue
        for (const text of entryTexts(index, document)) {
          for (const { key } of entries.between(` ${text}`, ` ${text}!`, false)) {
            yield { holder: key, index: index.name }
          }
        }
      }
    },
    *keysIn(ranges) {
      const found = ranges.map((range) => {
        const [low, high] = boundsOf(range)
        const fixed_length = ranges.length === 1 ? 0 : sortable(` ${keyPartsText(range.equals)} `).length
        const entries = indexes.get(range.index.name)?.entries.between(low, high, range.reverse) ?? []
        return { entries, fixed_length }
      })
      const [only, ...others] = found
      if (only !== undefined && others.length === 0) {
        for (const { key } of only.entries) yield key
        return
      }
      const merged = found.flatMap(({ entries, fixed_length }) =>
        [...entries].map(({ position, key }) => ({ position: position.slice(fixed_length), key })),
      )
      merged.sort((one, other) => (one.position < other.position ? -1 : 1))
      for (const { key } of merged) yield key
    },
  }
}

/** The first position inside a range and the first one past it, without what the previous page had. */
function boundsOf(range: IndexRange): readonly [low: string, high: string] {
  const [low, high] = rangeBounds(range, '')
  const { after, index, reverse } = range
  if (after === undefined) return [low, high]
  const position = positionText(index, keyPartsText(after.values), after.key)
  if (reverse) return [low, sortable(position) < sortable(high) ? position : high]
  // The smallest text after the position: positions have no control characters.
  return [sortable(position) >= sortable(low) ? `${position}\u0000` : low, high]
}

/** The positions of a document in an index. */
function positionsOf(index: Index, key: string, document: Body): readonly string[] {
  if (index.name === 'key') return [positionText(index, key, key)]
  return entryTexts(index, document).map((text) => positionText(index, text, key))
}

/** Begins with the separator of key parts, because bounds without a fixed value begin with it. */
function positionText(index: Index, text: string, key: string): string {
  return index.name === 'key' ? ` ${key}` : ` ${text} ${key}`
}
