import type { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { update } from '#lib/patterns/update.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import { notFound } from '../domain/settings.ts'

/** The most documents that a list by merchant returns. Creation stops at 500 per merchant, well before. */
const LIST_MAX = 1_000

/** The fields that every document of the registry has. */
export interface RegistryDocument {
  readonly merchant_id: string
  readonly created_at: Date
  readonly updated_at: Date
}

/** What differs between the collections of the registry. */
interface RegistryKind {
  readonly name: string
  /** How a change of a document is announced and listed. */
  readonly kind: ChangeKind
  readonly id_field: string
  /** The fields of the index `in_order`: the merchant and the id unless given. */
  readonly order?: readonly string[]
  /** The code that refuses an unknown id. */
  readonly unknown: 1003 | 1004 | 3003
}

/** A collection of the registry. Its documents are updated, never deleted. */
export interface RegistryCollection<D extends RegistryDocument, Id extends string | number> {
  readonly kind: ChangeKind
  readonly spec: CollectionSpec
  readonly collection: Collection<D>
  idOf(document: D): Id
  /** Adds a document, created now. */
  insert(document: Omit<D, 'created_at' | 'updated_at'>): Promise<D>
  get(id: Id): Promise<D | undefined>
  /**
   * Merges the fields that `decide` returns into the document, atomically; a concurrent write makes it decide again. Throws
   * the refusal of an unknown id, and `Unavailable` after 100 conflicts.
   */
  update(id: Id, decide: (current: D) => Partial<D>): Promise<D>
  /** Documents that were created or updated at `instant` or later, the earliest first. */
  listChangedSince(instant: Date, limit: number): Promise<D[]>
  /** All documents of one merchant, in the order of their ids, which is the order of creation. */
  listByMerchant(merchant_id: string): Promise<D[]>
}

/**
 * Opens a collection of the registry. It is partitioned by its own id, because most readers know only that; the few lists ask
 * every partition.
 */
export async function openRegistryCollection<D extends RegistryDocument, Id extends string | number>(
  store: Store,
  { name, kind, id_field, order = ['merchant_id', id_field], unknown }: RegistryKind,
): Promise<RegistryCollection<D, Id>> {
  const spec: CollectionSpec = {
    name,
    partition: [id_field],
    key: [id_field],
    indexes: {
      in_order: { fields: order, across_partitions: true },
      by_updated: { fields: ['updated_at'], across_partitions: true },
    },
  }
  const collection = await store.collection<D>(spec)
  return {
    kind,
    spec,
    collection,
    idOf: (document: object) => Reflect.get(document, id_field),
    insert(document) {
      const at = now()
      return collection.insert({ ...document, created_at: at, updated_at: at } as D)
    },
    get: (id) => collection.get({ [id_field]: id }),
    async update(id, decide) {
      const key = { [id_field]: id }
      const changed = (current: D): D => ({ ...current, ...decide(current), updated_at: now() })
      const updated = await update(collection, key, changed)
      if (!updated) throw notFound(unknown, id_field)
      return updated
    },
    listChangedSince: (instant, limit) => collection.find('by_updated', { from: instant }, { limit }),
    listByMerchant: (merchant_id) =>
      collection.find('in_order', { equals: [merchant_id] }, { limit: LIST_MAX }),
  }
}
