import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { IndexSpec } from '#lib/store/store.ts'
import type { PaymentReference } from './support-resource.ts'

/** A ticket, a refund or a chargeback, as lists know it. */
export interface ListedResource extends MerchantScope {
  readonly payment?: PaymentReference | undefined
  readonly created_at: Date
}

/** How one kind of resources is listed: newest first, and the resources of one millisecond by their ids (S6). */
export interface ResourceList {
  /** The public name of the list, which its cursors are bound to. */
  readonly name: string
  /** The field with the public id. */
  readonly id_field: string
  /** The last field of the key of the collection. */
  readonly key_field: string
  /** The field with the creation. Lists show only the resources that have it. */
  readonly time_field: 'created_at' | 'listed_at'
  /** The fields by which a list can be restricted, with all their words. */
  readonly words: Readonly<Record<string, readonly string[]>>
  /** The restricted fields of each index, the fewest first; the last index has all of them. */
  readonly restricted: readonly (readonly string[])[]
  /** The fields by which the operator restricts a list of all merchants. */
  readonly operator_fields: readonly string[]
  /** How the operator lists what has a deadline. */
  readonly deadlines?: DeadlineList
}

/** The list of what waits for a decision by a deadline. */
export interface DeadlineList {
  /** The field with the deadline. The list has only the resources that have it. */
  readonly field: string
  /** The statuses in which a decision is due. */
  readonly statuses: readonly string[]
}

/** Which of a merchant's resources a list shows. */
export interface ResourceFilter extends MerchantScope {
  /** The words that the list shows of each field. A field without words restricts nothing. */
  readonly only?: Readonly<Record<string, readonly string[]>>
  /** One identifier of the payment that the resources are about. */
  readonly payment?: { readonly by: 'c_id' | 'h_id'; readonly id: string } | undefined
  /** The inclusive lower bound of the creation. */
  readonly created_from?: Date
  /** The exclusive upper bound of the creation. */
  readonly created_to?: Date
}

const SCOPE = ['merchant_id', 'environment'] as const

/**
 * The indexes of the lists and the summary of a collection. Each combination of restrictions has an index, so a page reads
 * little more than what it shows. A payment has few resources, so their list needs no order.
 */
export function listIndexes(list: ResourceList): Readonly<Record<string, IndexSpec>> {
  const { id_field, time_field, operator_fields, deadlines } = list
  const order = [time_field, id_field]
  const shown = time_field === 'created_at' ? {} : { where: time_field }
  const listed = list.restricted.map((fields) => {
    const index: IndexSpec = { fields: [...SCOPE, ...fields, ...order], ...shown }
    return [nameOf(fields), index] as const
  })
  return {
    ...Object.fromEntries(listed),
    list_payment_c_id: { fields: [...SCOPE, 'payment.c_id'], where: 'payment' },
    list_payment_h_id: { fields: [...SCOPE, 'payment.h_id'], where: 'payment' },
    summary: { fields: [...SCOPE, ...order, 'status'] },
    every: { fields: ['environment', ...operator_fields, ...order], ...shown, across_partitions: true },
    of_payment: { fields: ['payment.payment_id'], where: 'payment', across_partitions: true },
    ...(deadlines && deadlineIndexes(list, deadlines)),
  }
}

function deadlineIndexes({ id_field, operator_fields }: ResourceList, { field }: DeadlineList) {
  const fields = ['environment', ...operator_fields, field, id_field]
  return {
    every_deadline: { fields, where: field, across_partitions: true },
    list_deadline: { fields: ['merchant_id', ...fields], where: field },
  } as const
}

function nameOf(fields: readonly string[]): string {
  return ['list', ...fields].join('_')
}

/**
 * The parts of a list and the name of their index: one range for each combination of the words of its filter, and of all
 * words of a field of the index that has no filter. So no list needs more than 192 ranges, and none of them holds a resource
 * that the list does not show. A filter with every word of its field restricts nothing.
 */
export function selectionsOf(
  { words, restricted }: ResourceList,
  { only = {} }: Pick<ResourceFilter, 'only'>,
) {
  const chosen = new Map<string, readonly string[]>()
  for (const [field, all] of Object.entries(words)) {
    const some = [...new Set(only[field])]
    if (some.length > 0 && some.length < all.length) chosen.set(field, some)
  }
  const fields = restricted.find((index) => [...chosen.keys()].every((field) => index.includes(field)))
  // Another index would list what the filter excludes.
  if (!fields) throw new TypeError(`no index has all of ${[...chosen.keys()].join(', ')}`)
  let selections: readonly Readonly<Record<string, string>>[] = [{}]
  for (const field of fields) {
    const shown = chosen.get(field) ?? words[field] ?? []
    selections = selections.flatMap((selection) => shown.map((word) => ({ ...selection, [field]: word })))
  }
  return { index: nameOf(fields), selections }
}

/** Whether a list shows a resource of its payment, by everything but the payment. */
export function matchesFilter(
  { words, time_field }: ResourceList,
  resource: ListedResource,
  { only = {}, created_from, created_to }: Omit<ResourceFilter, keyof MerchantScope>,
): boolean {
  const created_at: unknown = Reflect.get(resource, time_field)
  const isShown = (field: string): boolean =>
    !only[field]?.length || only[field].some((word) => word === Reflect.get(resource, field))
  return (
    created_at instanceof Date &&
    Object.keys(words).every(isShown) &&
    (!created_from || created_at >= created_from) &&
    (!created_to || created_at < created_to)
  )
}
