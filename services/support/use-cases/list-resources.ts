import type { Keyring } from '#lib/base/crypto/keyring.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { JsonValue } from '#lib/patterns/idempotency/idempotency.ts'
import { openCursor, sealCursor } from '#lib/patterns/paging/merchant-cursor.ts'
import { type IndexedRange, mergeRanges } from '#lib/patterns/paging/merge-ranges.ts'
import { checkPageSize, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import type { Collection, IndexSpec, Stored } from '#lib/store/store.ts'
import type { MerchantScope, PaymentReference } from '../domain/support-resource.ts'

/** A page of a merchant's list. Every page but the last has as many items as the limit. */
export interface CursorPage<T> {
  readonly items: readonly T[]
  /** Empty on the last page. */
  readonly next_cursor: string
}

/** The page that a merchant requested: up to `limit` items, 25 for 0, after the cursor. */
export interface CursorRequest {
  readonly limit: number
  readonly cursor: string
}

const OWNER = ['merchant_id', 'environment'] as const

/**
 * The indexes of lists and summaries of a collection of refunds or chargebacks: one for each way in which a list can be
 * restricted, newest first, and those of one millisecond by the id in `id_field` (S6). A payment has few of them, so its list
 * needs no order.
 */
export function listIndexes(id_field: string): Readonly<Record<string, IndexSpec>> {
  const order = ['created_at', id_field]
  return {
    list: { fields: [...OWNER, ...order] },
    list_status: { fields: [...OWNER, 'status', ...order] },
    list_payment_c_id: { fields: [...OWNER, 'payment.c_id'] },
    list_payment_h_id: { fields: [...OWNER, 'payment.h_id'] },
    by_created: { fields: ['merchant_id', 'created_at'] },
    summary: { fields: [...OWNER, ...order, 'status'] },
  }
}

/** A refund or a chargeback, as their lists know it. */
interface ListedResource extends MerchantScope {
  readonly status: string
  readonly payment: PaymentReference
  readonly created_at: Date
}

/** Which of a merchant's resources a list shows. No statuses restrict nothing. */
export interface ResourceFilter<Status extends string> extends MerchantScope {
  readonly statuses: readonly Status[]
  /** One identifier of the payment that the resources are about. */
  readonly payment?: { readonly by: 'c_id' | 'h_id'; readonly id: string }
  /** The inclusive lower bound of the creation. */
  readonly created_from?: Date
  /** The exclusive upper bound of the creation. */
  readonly created_to?: Date
}

/** What a list reads. */
interface ListDeps<D> {
  /** The public name of the list, which its cursors are bound to. */
  readonly name: string
  /** A collection with the indexes of `listIndexes(id_field)`. */
  readonly collection: Pick<Collection<D & object>, 'find'>
  /** The field with the public id, and its value. */
  readonly id_field: string
  readonly idOf: (document: D) => string
  /** The last field of the key of the collection. */
  readonly key_field: string
  readonly keyring: Keyring
}

/** The most refunds or chargebacks of one payment, which its document bounds (S8). */
const OF_PAYMENT_MAX = 200

const POSITION = { created_at: 'instant', id: 'text' } as const

interface Position {
  readonly created_at: Date
  readonly id: string
}

/**
 * A merchant's list, newest first (S6). A list reads one range of an index per status, so a page costs the same at any depth.
 * Throws 9000 for a limit outside 1 to 100, and for a cursor that was altered or belongs to other filters.
 */
export async function listResources<D extends ListedResource>(
  deps: ListDeps<D>,
  filter: ResourceFilter<string>,
  { limit, cursor }: CursorRequest,
): Promise<CursorPage<Stored<D>>> {
  const size = checkPageSize(limit)
  const scope = scopeOf(deps.name, filter)
  const after = openCursor(deps.keyring, scope, cursor, POSITION)
  const positionOf = (document: D): Position => ({
    created_at: document.created_at,
    id: deps.idOf(document),
  })
  const compare = (a: D, b: D): number => newestFirst(positionOf(a), positionOf(b))
  const isAfter = (document: D): boolean => !after || newestFirst(positionOf(document), after) > 0
  const found = filter.payment
    ? (await readOfPayment(deps, filter, filter.payment)).filter(isAfter).sort(compare)
    : await mergeRanges<D>(deps.collection, sourcesOf(deps, filter, after), {
        limit: size + 1,
        reverse: true,
        compare,
      })
  const items = found.slice(0, size)
  const last = found.length > size ? items.at(-1) : undefined
  const next_cursor = last ? sealCursor(deps.keyring, scope, { ...positionOf(last) }) : ''
  return { items, next_cursor }
}

function scopeOf(
  list: string,
  { created_from, created_to, statuses, payment, merchant_id, environment }: ResourceFilter<string>,
): Record<string, JsonValue | undefined> {
  return {
    list,
    merchant_id,
    environment,
    statuses: [...statuses],
    ...(payment ? { payment: { ...payment } } : {}),
    created_from: created_from?.toISOString(),
    created_to: created_to?.toISOString(),
  }
}

function newestFirst(a: Position, b: Position): number {
  const difference_ms = b.created_at.getTime() - a.created_at.getTime()
  if (difference_ms !== 0) return difference_ms
  return a.id === b.id ? 0 : a.id < b.id ? 1 : -1
}

/** One range for the whole list, or one per status that restricts it. */
function sourcesOf<D>(
  { id_field, key_field }: ListDeps<D>,
  { merchant_id, environment, statuses, created_from, created_to }: ResourceFilter<string>,
  after: Position | undefined,
): readonly IndexedRange[] {
  const bounds = {
    ...(created_from ? { from: created_from } : {}),
    ...(created_to ? { to: created_to } : {}),
  }
  // The public id is unique, so any value of the rest of the key gives the right place.
  const place = after && { [key_field]: '', created_at: after.created_at, [id_field]: after.id }
  const source = (index: string, status: Readonly<Record<string, string>>): IndexedRange => ({
    index,
    range: { equals: [merchant_id, environment, ...Object.values(status)], ...bounds },
    ...(place ? { after: { merchant_id, environment, ...status, ...place } } : {}),
  })
  const restricting = [...new Set(statuses)]
  if (restricting.length === 0) return [source('list', {})]
  return restricting.map((status) => source('list_status', { status }))
}

async function readOfPayment<D extends ListedResource>(
  { collection }: ListDeps<D>,
  { merchant_id, environment, statuses, created_from, created_to }: ResourceFilter<string>,
  { by, id }: NonNullable<ResourceFilter<string>['payment']>,
): Promise<Stored<D>[]> {
  const range = { equals: [merchant_id, environment, id] }
  const found = await collection.find(`list_payment_${by}`, range, { limit: OF_PAYMENT_MAX })
  return found.filter(
    ({ status, created_at }) =>
      (statuses.length === 0 || statuses.includes(status)) &&
      (!created_from || created_at >= created_from) &&
      (!created_to || created_at < created_to),
  )
}

/** Which resources of a merchant the operator lists. Without an environment, those of both. */
export interface OperatorFilter {
  readonly merchant_id: string
  readonly environment?: Environment
  readonly statuses: readonly string[]
}

/** The operator's list of a merchant's resources, newest first. Only an empty `next_page_token` ends it. */
export function listForOperator<D extends ListedResource>(
  { collection, key_field }: Pick<ListDeps<D>, 'collection' | 'key_field'>,
  { merchant_id, environment, statuses }: OperatorFilter,
  page: PageRequest,
): Promise<{ readonly items: readonly Stored<D>[]; readonly next_page_token: string }> {
  return readPage<D>(
    {
      collection,
      index: 'by_created',
      range: { equals: [merchant_id] },
      reverse: true,
      token_scope: { merchant_id },
      position: { created_at: 'instant', environment: 'text', [key_field]: 'text' },
      matches: (one) =>
        (environment === undefined || one.environment === environment) &&
        (statuses.length === 0 || statuses.includes(one.status)),
    },
    page,
  )
}
