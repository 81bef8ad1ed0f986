import { type IndexRange, rangeBounds } from '../index-range.ts'
import { keyPartsText } from '../keys.ts'
import type { KeyPrefixes } from './catalog.ts'
import type { Documents } from './documents.ts'
import type { Table } from './environment.ts'
import { documentOf } from './record.ts'

/** The documents of an index range, in its order. */
export function findDocuments(
  table: Table,
  prefixes: KeyPrefixes,
  documents: Documents,
  range: IndexRange,
): Record<string, unknown>[] {
  const prefix = prefixes.indexes.find(({ index }) => index === range.index)?.prefix
  const found: Record<string, unknown>[] = []
  const start = prefixes.collection + (prefix ?? prefixes.documents)
  for (const { key: entry, value } of table.getRange(rangeOf(start, range))) {
    // An index entry holds the key of its document. A document's own entry is that key, after the prefix and a space.
    const key = prefix === undefined ? entry.slice(start.length + 1) : Buffer.from(value).toString()
    const record = documents.read(key)
    if (record !== undefined) found.push(documentOf(record))
    if (found.length === range.limit) break
  }
  return found
}

/** The index range in LMDB's terms: the first key, the last key and the direction. */
function rangeOf(prefix: string, range: IndexRange): Parameters<Table['getRange']>[0] {
  const [low, high] = rangeBounds(range, prefix)
  const after = positionOf(prefix, range)
  if (range.reverse) {
    const start = after !== undefined && compareBytes(after, high) < 0 ? after : high
    return { start, end: low, reverse: true, exclusiveStart: true, inclusiveEnd: true }
  }
  const resumed = after !== undefined && compareBytes(after, low) >= 0
  return resumed ? { start: after, end: high, exclusiveStart: true } : { start: low, end: high }
}

function positionOf(prefix: string, { after, index }: IndexRange): string | undefined {
  if (after === undefined) return undefined
  const position = `${prefix} ${keyPartsText(after.values)}`
  return index.unique ? position : `${position} ${after.key}`
}

function compareBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
