import type { Keyring } from '#lib/base/crypto/keyring.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { openCursor } from '#lib/patterns/paging/merchant-cursor.ts'
import { type IndexedRange, mergeRanges } from '#lib/patterns/paging/merge-ranges.ts'
import { checkPageSize, type Page, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
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
  const size = checkPageSize(limit)
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

async function readOfPayment<D extends ListedResource>(
  list: ListSource<D>,
  filter: ResourceFilter,
  { by, id }: NonNullable<ResourceFilter['payment']>,
): Promise<Stored<D>[]> {
  const range = { equals: [filter.merchant_id, filter.environment, id] }
  const found = await list.collection.find(`list_payment_${by}`, range, { limit: OF_PAYMENT_MAX })
  return found.filter((resource) => matchesFilter(list, resource, filter))
}

/** Which resources of a merchant the operator lists. Without an environment, the resources of both. */
export interface OperatorFilter {
  readonly merchant_id: string
  readonly environment: Environment | undefined
  readonly statuses: readonly string[]
}

/** Whether the operator's list has a resource, by everything but the merchant. */
export function isListedForOperator(
  { environment, statuses }: Omit<OperatorFilter, 'merchant_id'>,
  resource: { readonly environment: Environment; readonly status: string },
): boolean {
  return (
    (environment === undefined || resource.environment === environment) &&
    (statuses.length === 0 || statuses.includes(resource.status))
  )
}

/** The operator's list of a merchant's resources, newest first. Only an empty `next_page_token` ends it. */
export function listForOperator<D extends ListedResource & { readonly status: string }>(
  { collection, key_field, time_field }: ListSource<D>,
  { merchant_id, ...filter }: OperatorFilter,
  page: PageRequest,
): Promise<Page<D>> {
  return readPage<D>(
    {
      collection,
      index: 'by_created',
      range: { equals: [merchant_id] },
      reverse: true,
      token_scope: { merchant_id },
      position: { [time_field]: 'instant', environment: 'text', [key_field]: 'text' },
      matches: (resource) => isListedForOperator(filter, resource),
    },
    page,
  )
}
