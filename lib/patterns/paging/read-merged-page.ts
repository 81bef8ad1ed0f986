import type { Collection, Fields, Range, Stored } from '#lib/store/store.ts'
import { mergeRanges } from './merge-ranges.ts'
import {
  checkPageSize,
  decodePageToken,
  encodePageToken,
  type Page,
  type PageRequest,
  type Position,
  type PositionFields,
} from './read-page.ts'

/** One range of a merged list: the values that it fixes, by their fields, in the order of its index. */
export interface Selection {
  readonly index: string
  readonly fixed: Fields
  /** The place in this range that follows a place of the list: the place with the fixed values unless given. */
  readonly placeAfter?: (place: Position) => Readonly<Record<string, unknown>>
}

/** A list over several ranges of indexes of a collection, each of which has the order of the list. */
export interface MergedList<D extends object> {
  readonly collection: Pick<Collection<D>, 'find'>
  /** No item is in two of them, and each of their items is in the list. */
  readonly selections: readonly Selection[]
  /** The bounds of the first field of the order. */
  readonly bounds?: Pick<Range, 'from' | 'to'>
  readonly reverse: boolean
  /** The fields that order the list, as each index has them after the fixed ones; the last is unique. */
  readonly order: PositionFields
  /** The further fields of the key. */
  readonly key: PositionFields
  /** What a page token must say besides: a token of another list is refused. */
  readonly token_scope: Readonly<Record<string, string>>
}

/**
 * Reads a page of a merged list. Every page but the last is full, and the last is empty only if the list is, unless items
 * go to other ranges meanwhile. A page reads at most
 * two documents more per range than it needs, at any depth. Throws 9000 for a page size outside 1 to 1,000 and for a token of
 * another list.
 */
export async function readMergedPage<D extends object>(
  list: MergedList<D>,
  { page_size, page_token }: PageRequest,
): Promise<Page<D>> {
  const { collection, selections, bounds, reverse, order } = list
  const size = checkPageSize(page_size)
  const after = placeOf(list, page_token)
  const found = await mergeRanges<D>(
    collection,
    selections.map(({ index, fixed, placeAfter = (place) => ({ ...place, ...fixed }) }) => ({
      index,
      range: { equals: Object.values(fixed), ...bounds },
      // The order is unique, so the place after the last item is right in every range, whatever the range fixes.
      after: after && placeAfter(after),
    })),
    { limit: size + 1, reverse, compare: comparison(Object.keys(order), reverse) },
  )
  return firstPage(list, found, size)
}

/** The same page of items that were all read, in any order. */
export function pageAfter<D extends object>(
  list: Omit<MergedList<D>, 'selections' | 'collection'>,
  found: readonly Stored<D>[],
  { page_size, page_token }: PageRequest,
): Page<D> {
  const size = checkPageSize(page_size)
  const after = placeOf(list, page_token)
  const compare = comparison(Object.keys(list.order), list.reverse)
  const rest = found.filter((item) => after === undefined || compare(item, after) > 0)
  return firstPage(list, rest.toSorted(compare), size)
}

type Order = Pick<MergedList<object>, 'order' | 'key' | 'token_scope'>

function placeOf({ order, key, token_scope }: Order, page_token: string): Position | undefined {
  return decodePageToken(page_token, token_scope, { ...order, ...key })
}

/** The page from the items that follow, which are one more than its size if there are so many. */
function firstPage<D extends object>(
  { order, key, token_scope }: Order,
  found: readonly Stored<D>[],
  size: number,
): Page<D> {
  const compare = comparison(Object.keys({ ...order, ...key }), false)
  // An item that went from one range to another meanwhile can be in both.
  const items = found
    .filter((item, at) => at === 0 || compare(found[at - 1] ?? item, item) !== 0)
    .slice(0, size)
  const last = found.length > size ? items.at(-1) : undefined
  if (last === undefined) return { items, next_page_token: '' }
  const fields = Object.keys({ ...order, ...key }).map((field) => [field, Reflect.get(last, field)])
  return { items, next_page_token: encodePageToken({ ...token_scope, ...Object.fromEntries(fields) }) }
}

/** Compares two items by fields that are dates or texts, each of which both have. Texts compare by their bytes, as in the stores. */
function comparison(fields: readonly string[], reverse: boolean) {
  return (a: object, b: object): number => {
    for (const field of fields) {
      const order = compareValues(Reflect.get(a, field), Reflect.get(b, field))
      if (order !== 0) return reverse ? -order : order
    }
    return 0
  }
}

function compareValues(one: unknown, other: unknown): number {
  if (one instanceof Date && other instanceof Date) return one.getTime() - other.getTime()
  return one === other ? 0 : Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)))
}
