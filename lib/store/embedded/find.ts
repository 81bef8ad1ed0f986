import { type IndexRange, rangeBounds } from '../index-range.ts'
import { keyPartsText } from '../keys.ts'
import type { KeyPrefixes } from './catalog.ts'
import type { Documents } from './documents.ts'
import type { Table } from './environment.ts'
import { documentOf } from './record.ts'

type Ranges = readonly [IndexRange, ...IndexRange[]]

/** The documents of index ranges, in their order. */
export function findDocuments(
  table: Table,
  prefixes: KeyPrefixes,
  documents: Documents,
  ranges: Ranges,
): Record<string, unknown>[] {
  const [{ index: wanted, limit }, ...others] = ranges
  const prefix = prefixes.indexes.find(({ index }) => index === wanted)?.prefix
  const start = prefixes.collection + (prefix ?? prefixes.documents)
  const keys =
    others.length === 0 ? keysIn(table, start, prefix, ranges[0]) : mergedKeys(table, start, ranges)
  const found: Record<string, unknown>[] = []
  for (const key of keys) {
    const record = documents.read(key)
    if (record !== undefined) found.push(documentOf(record))
    if (found.length === limit) break
  }
  return found
}

/** The keys of the documents of one range. */
function* keysIn(
  table: Table,
  start: string,
  prefix: string | undefined,
  range: IndexRange,
): Generator<string> {
  // An index entry holds the key of its document. A document's own entry is that key, after the prefix and a space.
  for (const { key: entry, value } of table.getRange(rangeOf(start, range)))
    yield prefix === undefined ? entry.slice(start.length + 1) : Buffer.from(value).toString()
}

/** What is left of one of several ranges: its next entry, and where that belongs among the next entries of the other ranges. */
interface Head {
  /** The key of the document of the entry. */
  readonly key: string
  /** The entry without what the range fixes: heads are in its order. */
  readonly position: Buffer
  readonly rest: Rest
}

/** The entries after the next one of a range, which may go on past its end. */
interface Rest {
  readonly entries: Iterator<{ readonly key: string; readonly value: Buffer }>
  readonly end: string
  readonly fixed_length: number
}

/** The keys of the documents of several ranges, in the order of what the ranges do not fix. */
function* mergedKeys(table: Table, start: string, ranges: Ranges): Generator<string> {
  // In descending order: the last one is the next.
  const heads = firstHeads(table, start, ranges)
  try {
    for (let head = heads.at(-1); head !== undefined; head = heads.at(-1)) {
      yield head.key
      heads.pop()
      insertHead(heads, nextHead(head.rest))
    }
  } finally {
    for (const { rest } of heads) rest.entries.return?.()
  }
}

/** The first entry of each range that has one. Ranges without entries cost one look for all that follow each other. */
function firstHeads(table: Table, start: string, ranges: Ranges): Head[] {
  const bounds = ranges.map((range) => ({ ...rangeOf(start, range), range }))
  bounds.sort((one, other) => compareBytes(one.start, other.start))
  const last_end = bounds.at(-1)?.end ?? ''
  const heads: Head[] = []
  let first_entry = ''
  for (const { range, end, ...bound } of bounds) {
    if (compareBytes(first_entry, end) >= 0) continue
    const entries = table.getRange({ ...bound, end: last_end })[Symbol.iterator]()
    const { value: first, done } = entries.next()
    if (done) break
    first_entry = first.key
    const rest = { entries, end, fixed_length: `${start} ${keyPartsText(range.equals)} `.length }
    insertHead(heads, headOf(first, rest))
  }
  return heads
}

function nextHead(rest: Rest): Head | undefined {
  const { value: entry, done } = rest.entries.next()
  return done ? undefined : headOf(entry, rest)
}

/** The head with an entry; `undefined` when that is past the end of the range, of which nothing more is read then. */
function headOf(entry: { readonly key: string; readonly value: Buffer }, rest: Rest): Head | undefined {
  if (compareBytes(entry.key, rest.end) >= 0) {
    rest.entries.return?.()
    return undefined
  }
  const position = Buffer.from(entry.key.slice(rest.fixed_length))
  return { key: Buffer.from(entry.value).toString(), position, rest }
}

function insertHead(heads: Head[], head: Head | undefined): void {
  if (head === undefined) return
  let [low, high] = [0, heads.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = heads[middle]
    if (other !== undefined && Buffer.compare(other.position, head.position) > 0) low = middle + 1
    else high = middle
  }
  heads.splice(low, 0, head)
}

/** The index range in LMDB's terms: the first key, the last key and the direction. */
function rangeOf(prefix: string, range: IndexRange) {
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
