import type { Collection, Range, Stored } from '#lib/store/store.ts'

/** A range of an index, and the position after which to read it; from its beginning without one. */
export interface IndexedRange {
  readonly index: string
  readonly range: Range
  readonly after?: Readonly<Record<string, unknown>> | undefined
}

/** How to merge ranges: how many documents to return, and which of two comes first. */
interface MergeOptions<D> {
  readonly limit: number
  readonly reverse: boolean
  readonly compare: (a: D, b: D) => number
}

interface Stream<D> {
  readonly source: IndexedRange
  buffer: Stored<D>[]
  /** Whether the range may have more documents than the buffer. */
  has_more: boolean
}

const READS_AT_ONCE = 16
/** The most documents that a store reads at once. */
const FIND_MAX = 1_000

/**
 * Reads the first documents of several ranges of indexes as one ordered list. Each range must have the order of `compare`,
 * and no document is in two of them. The number of documents read depends on the limit and the number of ranges only, so
 * a page costs the same at any depth.
 */
export async function mergeRanges<D extends object>(
  collection: Pick<Collection<D>, 'find'>,
  sources: readonly IndexedRange[],
  { limit, reverse, compare }: MergeOptions<D>,
): Promise<Stored<D>[]> {
  const size = Math.min(limit, FIND_MAX, Math.ceil(limit / Math.max(1, sources.length)) + 1)
  const fill = async (stream: Stream<D>, after: IndexedRange['after']): Promise<void> => {
    const { index, range } = stream.source
    stream.buffer = await collection.find(index, range, { limit: size, reverse, after })
    stream.has_more = stream.buffer.length === size
  }
  const streams: Stream<D>[] = sources.map((source) => ({ source, buffer: [], has_more: true }))
  for (let first = 0; first < streams.length; first += READS_AT_ONCE) {
    const some = streams.slice(first, first + READS_AT_ONCE)
    await Promise.all(some.map((stream) => fill(stream, stream.source.after)))
  }
  const merged: Stored<D>[] = []
  while (merged.length < limit) {
    const next = firstOf(streams, compare)
    const document = next?.buffer.shift()
    if (!next || !document) break
    merged.push(document)
    if (next.buffer.length === 0 && next.has_more) await fill(next, document)
  }
  return merged
}

/** The stream whose first document comes first; `undefined` when all have ended. */
function firstOf<D>(streams: readonly Stream<D>[], compare: (a: D, b: D) => number): Stream<D> | undefined {
  let first: Stream<D> | undefined
  for (const stream of streams) {
    const [document] = stream.buffer
    const [best] = first?.buffer ?? []
    if (document && (!best || compare(document, best) < 0)) first = stream
  }
  return first
}
