import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { type IndexedRange, mergeRanges } from '#lib/patterns/paging/merge-ranges.ts'
import {
  checkPageSize,
  decodePageToken,
  encodePageToken,
  type Page,
  type PageRequest,
  type Position,
  type PositionFields,
  type PositionOf,
} from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'

/** A list that is merged from ranges of indexes, in the reverse of their order. */
interface MergedList<D extends object, F extends PositionFields> {
  readonly collection: Pick<Collection<D>, 'find'>
  /** A page token is valid only in the list with this filter. */
  readonly filter: object
  /** The place of a document in the list: its time first, then the other fields in the order by which they sort. */
  readonly place: F
  readonly placeOf: (document: D) => PositionOf<F> & Position
  /** The ranges, each to be read from after a place. */
  readonly sourcesAfter: (after: PositionOf<F> | undefined) => readonly IndexedRange[]
}

/**
 * Reads a page of a merged list. It reads at most about twice the page and two documents per range, at any depth; of one range, the
 * page and one more. No page before the last is empty. Throws 9000 for a page size outside 1 to 1,000 and for a token of
 * another list or filter.
 */
export async function readMergedPage<D extends object, F extends PositionFields>(
  { collection, filter, place, placeOf, sourcesAfter }: MergedList<D, F>,
  { page_size, page_token }: PageRequest,
): Promise<Page<D>> {
  const size = checkPageSize(page_size)
  const token_scope = { list: sha256Hex(JSON.stringify(filter)).slice(0, 16) }
  const after = decodePageToken(page_token, token_scope, place)
  const fields = Object.keys(place)
  const compare = (one: D, other: D): number => comparePlaces(placeOf(other), placeOf(one), fields)
  const limit = size + 1
  const found = await mergeRanges(collection, sourcesAfter(after), { limit, reverse: true, compare })
  // A document that went from one range to another meanwhile can be in both.
  const items = found
    .filter((document, at) => at === 0 || compare(found[at - 1] ?? document, document) !== 0)
    .slice(0, size)
  const last = found.length === limit ? items.at(-1) : undefined
  return { items, next_page_token: last ? encodePageToken({ ...token_scope, ...placeOf(last) }) : '' }
}

function comparePlaces(one: Position, other: Position, fields: readonly string[]): number {
  for (const field of fields) {
    const order = compareValues(one[field], other[field])
    if (order !== 0) return order
  }
  return 0
}

/** Texts compare by their bytes, as in the stores. */
function compareValues(one: Position[string] | undefined, other: Position[string] | undefined): number {
  if (one instanceof Date && other instanceof Date) return one.getTime() - other.getTime()
  return one === other ? 0 : Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)))
}
