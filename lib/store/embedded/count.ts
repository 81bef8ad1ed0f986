import type { Transaction } from 'lmdb'
import { clock, nextTurn } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type CountRange, rangeBounds } from '../index-range.ts'
import { textOfKeyPart } from '../keys.ts'
import type { Layout } from '../layout.ts'
import type { KeyPrefixes } from './catalog.ts'
import type { LmdbEnvironment, Table } from './environment.ts'

/** How long a count keeps the event loop: half of the 10 ms that any work may keep it. */
const SLICE_MS = 5
/** Entries between two looks at the clock: they take about 0.2 ms. */
const UNWATCHED_ENTRIES = 500

/**
 * Counts the index entries of a range by their last field, without reading the documents, in slices between which the event
 * loop runs. All slices see one moment, so a document whose last field changes meanwhile is neither counted twice nor left
 * out.
 */
export async function countDocuments(
  environment: LmdbEnvironment,
  prefixes: KeyPrefixes,
  layout: Layout,
  range: CountRange,
  limit_ms: number,
): Promise<ReadonlyMap<string, number>> {
  const until_ms = clock.monotonic_ms() + limit_ms
  const prefix = prefixes.indexes.find(({ index }) => index === range.index)?.prefix ?? ''
  const [low, end] = rangeBounds(range, prefixes.collection + prefix)
  const counts = new Map<string, number>()
  const view = environment.openView()
  try {
    for (let start: string | undefined = low; start !== undefined; ) {
      if (clock.monotonic_ms() >= until_ms) throw new Unavailable(`${layout.name}: the count took too long`)
      const slice: Slice = { start, end, exclusiveStart: start !== low, transaction: view.transaction }
      start = environment.read(() => countSlice(environment.table, slice, layout, counts))
      if (start !== undefined) await new Promise<void>(nextTurn)
    }
  } finally {
    view.close()
  }
  return new Map([...counts].map(([part, count]) => [textOfKeyPart(part), count]))
}

/** The part of a range that is not counted yet. */
interface Slice {
  readonly start: string
  readonly end: string
  readonly exclusiveStart: boolean
  readonly transaction: Transaction
}

/** Counts entries until the time of a slice is over. Returns the last of them; `undefined` when all are counted. */
function countSlice(
  table: Table,
  slice: Slice,
  layout: Layout,
  counts: Map<string, number>,
): string | undefined {
  const until_ms = clock.monotonic_ms() + SLICE_MS
  let unwatched = UNWATCHED_ENTRIES
  for (const entry of table.getKeys(slice)) {
    const value_end = endWithoutKey(entry, layout)
    const part = entry.slice(entry.lastIndexOf(' ', value_end - 1) + 1, value_end)
    counts.set(part, (counts.get(part) ?? 0) + 1)
    unwatched -= 1
    if (unwatched > 0) continue
    unwatched = UNWATCHED_ENTRIES
    if (clock.monotonic_ms() >= until_ms) return entry
  }
  return undefined
}

/** The length of an entry without the key of its document, which ends it, and the space before that. */
function endWithoutKey(entry: string, { key }: Layout): number {
  let end = entry.length
  for (let parts = key.length; parts > 0; parts -= 1) end = entry.lastIndexOf(' ', end - 1)
  return end
}
