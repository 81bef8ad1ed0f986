import { ENVIRONMENTS, type Environment } from '#lib/contract/environment.ts'
import {
  type MergedList,
  pageAfter,
  readMergedPage,
  type Selection,
} from '#lib/patterns/paging/read-merged-page.ts'
import type { Page, PageRequest, PositionFields } from '#lib/patterns/paging/read-page.ts'
import type { Collection } from '#lib/store/store.ts'
import {
  type DeadlineList,
  type ListedResource,
  matchesFilter,
  type ResourceList,
  selectionsOf,
} from '../domain/resource-list.ts'

/** Which resources the operator lists. What is absent restricts nothing. */
export interface OperatorFilter {
  readonly merchant_id?: string | undefined
  readonly environment?: Environment | undefined
  /** The words that the list shows of each field. A field without words restricts nothing. */
  readonly only: Readonly<Record<string, readonly string[]>>
  readonly payment_id?: string | undefined
  /** The inclusive lower and the exclusive upper bound of the creation. */
  readonly created_from?: Date
  readonly created_to?: Date
}

/** What a list of the operator reads. */
type OperatorSource<D> = ResourceList & { readonly collection: Pick<Collection<D & object>, 'find'> }

/** The most resources of one payment, which its document bounds (S8). */
const OF_PAYMENT_MAX = 200

/**
 * The operator's list by creation, of one merchant or of all, newest first unless `oldest_first` (O8). Each combination of
 * filters is read from an index that has them all.
 */
export function listForOperator<D extends ListedResource>(
  source: OperatorSource<D>,
  filter: OperatorFilter,
  { oldest_first, ...page }: PageRequest & { readonly oldest_first: boolean },
): Promise<Page<D>> {
  const { created_from: from, created_to: to } = filter
  const list: MergedList<D> = {
    collection: source.collection,
    selections: selectionsByCreation(source, filter),
    bounds: { from, to },
    reverse: !oldest_first,
    order: { [source.time_field]: 'instant', [source.id_field]: 'text' },
    key: keyOf(source),
    token_scope: { list: oldest_first ? 'oldest first' : 'newest first' },
  }
  if (filter.payment_id === undefined) return readMergedPage(list, page)
  return readOfPayment(source, filter, filter.payment_id, (found) => pageAfter(list, found, page))
}

/**
 * The operator's list of what waits for a decision by a deadline, the next one first, of all merchants or, where the list has
 * an index for it, of one.
 */
export function listByDeadline<D extends ListedResource>(
  source: OperatorSource<D> & { readonly deadlines: DeadlineList },
  filter: OperatorFilter,
  page: PageRequest,
): Promise<Page<D>> {
  const { deadlines } = source
  const list: MergedList<D> = {
    collection: source.collection,
    selections: selectionsByDeadline(source, filter),
    reverse: false,
    order: { [deadlines.field]: 'instant', [source.id_field]: 'text' },
    key: keyOf(source),
    token_scope: { list: 'by deadline' },
  }
  return readMergedPage(list, page)
}

/** The ranges of the index by deadline that a list reads. */
export function selectionsByDeadline(
  source: ResourceList & { readonly deadlines: DeadlineList },
  { merchant_id, environment, only }: OperatorFilter,
): readonly Selection[] {
  const words: ResourceList['words'] = { ...source.words, status: source.deadlines.statuses }
  return selections(merchant_id === undefined ? 'every_deadline' : 'list_deadline', [
    ...(merchant_id === undefined ? [] : [['merchant_id', [merchant_id]] as const]),
    ['environment', environmentsOf(environment)],
    ...source.operator_fields.map(
      (field) => [field, wordsOf(words, only, field).filter((word) => words[field]?.includes(word))] as const,
    ),
  ])
}

/** The ranges of indexes by creation that a list reads: one for each combination of words. */
export function selectionsByCreation(
  source: ResourceList,
  { merchant_id, environment, only }: OperatorFilter,
): readonly Selection[] {
  const environments = environmentsOf(environment)
  if (merchant_id === undefined) {
    return selections('every', [
      ['environment', environments],
      ...source.operator_fields.map((field) => [field, wordsOf(source.words, only, field)] as const),
    ])
  }
  const restricted = selectionsOf(source, { only })
  return environments.flatMap((one) =>
    restricted.selections.map((selection) => ({
      index: restricted.index,
      fixed: { merchant_id, environment: one, ...selection },
    })),
  )
}

/** One selection for each combination of the values of the fields. */
function selections(
  index: string,
  fields: readonly (readonly [field: string, values: readonly string[]])[],
): readonly Selection[] {
  let all: readonly Selection[] = [{ index, fixed: {} }]
  for (const [field, values] of fields)
    all = all.flatMap(({ fixed }) => values.map((value) => ({ index, fixed: { ...fixed, [field]: value } })))
  return all
}

function environmentsOf(environment: Environment | undefined): readonly Environment[] {
  return environment === undefined ? ENVIRONMENTS.names : [environment]
}

/** The words of a field that the list shows, each once. */
function wordsOf(
  words: ResourceList['words'],
  only: OperatorFilter['only'],
  field: string,
): readonly string[] {
  const some = only[field]
  return some?.length ? [...new Set(some)] : (words[field] ?? [])
}

function keyOf({ key_field }: ResourceList): PositionFields {
  return { merchant_id: 'text', environment: 'text', [key_field]: 'text' }
}

/** The resources of one payment, which are few: all of them are read. */
async function readOfPayment<D extends ListedResource>(
  source: OperatorSource<D>,
  { merchant_id, environment, ...filter }: OperatorFilter,
  payment_id: string,
  page: (found: Awaited<ReturnType<OperatorSource<D>['collection']['find']>>) => Page<D>,
): Promise<Page<D>> {
  const range = { equals: [payment_id] }
  const found = await source.collection.find('of_payment', range, { limit: OF_PAYMENT_MAX })
  const isShown = (resource: D): boolean =>
    (merchant_id === undefined || resource.merchant_id === merchant_id) &&
    (environment === undefined || resource.environment === environment) &&
    matchesFilter(source, resource, filter)
  return page(found.filter(isShown))
}
