import { now } from '#lib/base/time.ts'
import { update } from '#lib/patterns/update.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'

/** The most documents that a list by merchant returns. Creation stops at 500 per merchant, well before. */
const LIST_MAX = 1_000

/** The fields that every document of the registry has. */
export interface RegistryDocument {
  readonly merchant_id: string
  readonly updated_at: Date
}

/** The operations that all collections of the registry share. Documents are updated, never deleted. */
export interface RegistryCollection<D extends RegistryDocument, Id> {
  insert(document: D): Promise<D>
  get(id: Id): Promise<D | undefined>
  /**
   * Merges the fields that `decide` returns into the document, atomically; a concurrent write makes it decide again.
   * Resolves to `undefined` when there is no such document. Throws `Unavailable` after 100 conflicts.
   */
  update(id: Id, decide: (current: D) => Partial<D>): Promise<D | undefined>
  /** Documents that were created or updated at `instant` or later, the earliest first. */
  listChangedSince(instant: Date, limit: number): Promise<D[]>
}

/** A collection whose documents belong to merchants: credentials, routes, endpoints. */
export interface OwnedCollection<D extends RegistryDocument, Id> extends RegistryCollection<D, Id> {
  /** All documents of one merchant, in the order of their ids, which is the order of creation. */
  listByMerchant(merchant_id: string): Promise<D[]>
}

/** A collection with its shared operations, and the store's own collection for queries that only one of them has. */
export interface OpenedCollection<D extends RegistryDocument, Id> {
  readonly collection: Collection<D>
  readonly operations: RegistryCollection<D, Id>
}

/**
 * Declares one collection of the registry. It is partitioned by its own id, because most readers know only that; the few
 * lists ask every partition. `order` names the fields of the index `in_order`.
 */
export function registrySpec(name: string, id_field: string, order: readonly string[]): CollectionSpec {
  return {
    name,
    partition: [id_field],
    key: [id_field],
    indexes: {
      in_order: { fields: order, across_partitions: true },
      by_updated: { fields: ['updated_at'], across_partitions: true },
    },
  }
}

/** Declares a collection whose documents belong to merchants. */
export function ownedSpec(name: string, id_field: string): CollectionSpec {
  return registrySpec(name, id_field, ['merchant_id', id_field])
}

/** Opens one collection of the registry. */
export async function openRegistryCollection<D extends RegistryDocument, Id extends string | number>(
  store: Store,
  spec: CollectionSpec,
): Promise<OpenedCollection<D, Id>> {
  const collection = await store.collection<D>(spec)
  const [id_field = ''] = spec.key
  const operations: RegistryCollection<D, Id> = {
    insert: (document) => collection.insert(document),
    get: (id) => collection.get({ [id_field]: id }),
    update: (id, decide) =>
      update(collection, { [id_field]: id }, (current) => ({
        ...current,
        ...decide(current),
        updated_at: now(),
      })),
    listChangedSince: (instant, limit) => collection.find('by_updated', { from: instant }, { limit }),
  }
  return { collection, operations }
}

/** Opens a collection whose documents belong to merchants. */
export async function openOwnedCollection<D extends RegistryDocument, Id extends string | number>(
  store: Store,
  spec: CollectionSpec,
): Promise<OwnedCollection<D, Id>> {
  const { collection, operations } = await openRegistryCollection<D, Id>(store, spec)
  return {
    ...operations,
    listByMerchant: (merchant_id) =>
      collection.find('in_order', { equals: [merchant_id] }, { limit: LIST_MAX }),
  }
}
