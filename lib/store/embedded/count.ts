import { clock, nextTurn } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type CountRange, PAST, rangeBounds } from '../index-range.ts'
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
 * loop runs. Each slice sees the newest state. A document whose last field changes moves among the entries that have its
 * other fields, and a slice never ends between those: so no document is counted twice or left out.
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
  for (let start: string | undefined = low; start !== undefined; ) {
    if (clock.monotonic_ms() >= until_ms) throw new Unavailable(`${layout.name}: the count took too long`)
    const slice: { readonly start: string; readonly end: string } = { start, end }
    start = environment.read(() => countSlice(environment.table, slice, layout, counts))
    if (start !== undefined) await new Promise<void>(nextTurn)
  }
  return new Map([...counts].map(([part, count]) => [textOfKeyPart(part), count]))
}

/** Counts entries until the time of a slice is over. Returns where the next slice begins; `undefined` when all are counted. */
function countSlice(
  table: Table,
  range: { readonly start: string; readonly end: string },
  layout: Layout,
  counts: Map<string, number>,
): string | undefined {
  const until_ms = clock.monotonic_ms() + SLICE_MS
  let unwatched = UNWATCHED_ENTRIES
  /** What the entries share that the slice must still count; set when its time is over. */
  let last: string | undefined
  for (const entry of table.getKeys(range)) {
    if (last !== undefined && !entry.startsWith(last)) return last.slice(0, -1) + PAST
    const value_end = endWithoutKey(entry, layout)
    const value_start = entry.lastIndexOf(' ', value_end - 1) + 1
    const part = entry.slice(value_start, value_end)
    counts.set(part, (counts.get(part) ?? 0) + 1)
    unwatched -= 1
    if (unwatched > 0 || last !== undefined) continue
    unwatched = UNWATCHED_ENTRIES
    if (clock.monotonic_ms() >= until_ms) last = entry.slice(0, value_start)
  }
  return undefined
}

/** The length of an entry without the key of its document, which ends it, and the space before that. */
function endWithoutKey(entry: string, { key }: Layout): number {
  let end = entry.length
  for (let parts = key.length; parts > 0; parts -= 1) end = entry.lastIndexOf(' ', end - 1)
  return end
}
