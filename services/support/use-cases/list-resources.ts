import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { openCursor } from '#lib/patterns/paging/merchant-cursor.ts'
import { type IndexedRange, mergeRanges } from '#lib/patterns/paging/merge-ranges.ts'
import { checkPageSize, MERCHANT_PAGE_MAX } from '#lib/patterns/paging/read-page.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import {
  type ListedResource,
  matchesFilter,
  type ResourceFilter,
  type ResourceList,
  selectionsOf,
} from '../domain/resource-list.ts'
import { type CursorPage, type CursorRequest, cursorPage } from './cursor-page.ts'

/** What a list reads: a collection with the indexes of its `listIndexes`. */
interface ListSource<D extends ListedResource> extends ResourceList {
  readonly collection: Pick<Collection<D>, 'find'>
}

/** The most resources of one payment, which its document bounds (S8). */
const OF_PAYMENT_MAX = 200

const POSITION = { created_at: 'instant', id: 'text' } as const

/** The place of a resource in a list. A ticket that was just deleted is where it was. */
type Place = { readonly created_at: Date; readonly id: string }

/**
 * The merchant's `ticket.list`, `refund.list` and `chargeback.list`, newest first (S6). A list reads one range of an index
 * per selection, so a page costs the same at any depth. Throws 9000 for a limit outside 1 to 100, and for a cursor that was
 * altered or belongs to other filters.
 */
export async function listResources<D extends ListedResource>(
  list: ListSource<D> & { readonly keyring: Keyring },
  filter: ResourceFilter,
  { limit, cursor }: CursorRequest,
): Promise<CursorPage<Stored<D>>> {
  const { keyring, id_field } = list
  const size = checkPageSize(limit, MERCHANT_PAGE_MAX)
  const { created_from, created_to, ...rest } = filter
  const instants = { created_from: created_from?.toISOString(), created_to: created_to?.toISOString() }
  const scope = { list: list.name, ...rest, ...instants }
  const after = openCursor(keyring, scope, cursor, POSITION)
  const positionOf = (resource: D): Place => ({
    created_at: resource.created_at,
    id: String(Reflect.get(resource, id_field)),
  })
  const compare = (a: D, b: D): number => newestFirst(positionOf(a), positionOf(b))
  const found = filter.payment
    ? (await readOfPayment(list, filter, filter.payment))
        .filter((resource) => !after || newestFirst(positionOf(resource), after) > 0)
        .sort(compare)
    : await mergeRanges<D>(list.collection, sourcesOf(list, filter, after), {
        limit: size + 1,
        reverse: true,
        compare,
      })
  return cursorPage(found, size, { keyring, scope, positionOf })
}

function newestFirst(a: Place, b: Place): number {
  const difference_ms = b.created_at.getTime() - a.created_at.getTime()
  if (difference_ms !== 0) return difference_ms
  return a.id === b.id ? 0 : a.id < b.id ? 1 : -1
}

function sourcesOf(
  list: ResourceList,
  filter: ResourceFilter,
  after: Place | undefined,
): readonly IndexedRange[] {
  const { merchant_id, environment, created_from, created_to } = filter
  // The public id is unique, so any value of the rest of the key gives the right place in each range.
  const place = after && {
    [list.key_field]: '',
    [list.time_field]: after.created_at,
    [list.id_field]: after.id,
  }
  const { index, selections } = selectionsOf(list, filter)
  return selections.map((selection) => ({
    index,
    range: {
      equals: [merchant_id, environment, ...Object.values(selection)],
      from: created_from,
      to: created_to,
    },
    after: place && { merchant_id, environment, ...selection, ...place },
  }))
}

/** The resources of a payment that a list shows, in no order. A payment has few, so one read finds them all. */
export async function readOfPayment<D extends ListedResource>(
  list: ListSource<D>,
  filter: ResourceFilter,
  { by, id }: NonNullable<ResourceFilter['payment']>,
): Promise<Stored<D>[]> {
  const range = { equals: [filter.merchant_id, filter.environment, id] }
  const found = await list.collection.find(`list_payment_${by}`, range, { limit: OF_PAYMENT_MAX })
  return found.filter((resource) => matchesFilter(list, resource, filter))
}
