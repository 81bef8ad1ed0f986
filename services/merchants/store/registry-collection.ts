import type { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { isUuid } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import {
  PAGE_SIZE_MAX,
  type Page,
  type PageRequest,
  type PositionFields,
  readPage,
} from '#lib/patterns/paging/read-page.ts'
import { update } from '#lib/patterns/update.ts'
import { withCodec } from '#lib/store/coded-collection.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import type { CollectionSpec, Fields, Store } from '#lib/store/store.ts'
import { parseNumericId, type RegistryDocument } from '../domain/settings.ts'

/** The most documents that a list by merchant returns. Creation stops at 500 per merchant, well before. */
const LIST_MAX = 1_000

/** Reads an id from its text; `undefined` for a text that cannot be one. */
const ID_FORMS = {
  number: parseNumericId,
  digits: (text: string) => (parseNumericId(text) === undefined ? undefined : text),
  uuid: (text: string) => (isUuid(text) ? text : undefined),
}

/** What differs between the collections of the registry. */
interface RegistryKind<D extends RegistryDocument> {
  readonly name: string
  /** How a change of a document is announced and listed. */
  readonly kind: ChangeKind
  readonly id_field: string
  /** A number, a text of digits, or a UUID. */
  readonly id_form: keyof typeof ID_FORMS
  /** The fields of the index `in_order`: the merchant and the id unless given. */
  readonly order?: readonly string[]
  readonly indexes?: CollectionSpec['indexes']
  /** Fields that the store derives from the others. */
  readonly derive?: ((document: D) => Partial<D>) | undefined
  /** The code that refuses an unknown id. */
  readonly unknown: 1003 | 1004 | 3003
}

/** A document to add; the collection sets its times. */
export type NewDocument<D extends RegistryDocument> = Omit<D, 'created_at' | 'updated_at'>

/** A collection of the registry. Its documents are updated, never deleted. Ids are texts here, as in requests. */
export type RegistryCollection<D extends RegistryDocument> = Awaited<
  ReturnType<typeof openRegistryCollection<D>>
>

/**
 * Opens a collection of the registry. It is partitioned by its own id, because most readers know only that; the few lists
 * ask every partition.
 */
export async function openRegistryCollection<D extends RegistryDocument>(
  store: Store,
  {
    name,
    kind,
    id_field,
    id_form,
    order = ['merchant_id', id_field],
    indexes = {},
    derive,
    unknown,
  }: RegistryKind<D>,
) {
  const spec: CollectionSpec = {
    name,
    partition: [id_field],
    key: [id_field],
    indexes: {
      in_order: { fields: order, across_partitions: true },
      ...ACT_INDEX,
      by_updated: { fields: ['updated_at'], across_partitions: true },
      ...indexes,
    },
  }
  const stored = await store.collection<D>(spec)
  const collection =
    derive === undefined
      ? stored
      : withCodec<D, D>(stored, {
          encode: (document) => ({ ...document, ...derive(document) }),
          decode: (document) => document,
        })
  const id_type = id_form === 'number' ? 'integer' : 'text'
  const position: PositionFields = {
    ...Object.fromEntries(order.map((field) => [field, field === 'number' ? 'integer' : 'text'] as const)),
    [id_field]: id_type,
  }
  const keyOf = (id: string): Fields | undefined => {
    const parsed = ID_FORMS[id_form](id)
    return parsed === undefined ? undefined : { [id_field]: parsed }
  }
  /** The document with this id; `undefined` when there is none. */
  const find = async (id: string): Promise<D | undefined> => {
    const key = keyOf(id)
    return key && (await collection.get(key))
  }
  /** The document that a request names. In a request without the id, a number is 0. */
  const existing = (id: string, found: D | undefined): D => {
    if (id === '' || (id === '0' && id_form === 'number')) throw fieldError(1005, id_field)
    if (!found) throw fieldError(unknown, id_field, 'nothing has this id')
    return found
  }
  return {
    kind,
    spec,
    collection,
    idOf: (document: D): string => String(Reflect.get(document, id_field)),
    /** Adds a document, created now. */
    insert(document: NewDocument<D>): Promise<D> {
      const at = now()
      return collection.insert({ ...document, created_at: at, updated_at: at } as D)
    },
    find,
    /** The same for an id that must exist. Throws 1005 without one, and the refusal of an unknown id. */
    get: async (id: string): Promise<D> => existing(id, await find(id)),
    /**
     * Merges the fields that `decide` returns into the document, atomically; a concurrent write makes it decide again.
     * `undefined` from it means "no change". Throws what `get` throws, and `Unavailable` after 100 conflicts.
     */
    async update(id: string, decide: (current: D) => Partial<D> | undefined): Promise<D> {
      const key = keyOf(id)
      const changed = (current: D): D | undefined => {
        const changes = decide(current)
        // Later than the version before, also in the same millisecond: caches know a version by this time.
        const updated_at = new Date(Math.max(now().getTime(), current.updated_at.getTime() + 1))
        return changes && { ...current, ...changes, updated_at }
      }
      return existing(id, key && (await update(collection, key, changed)))
    },
    /**
     * Up to `limit` documents that were created or updated at `instant` or later, the earliest first. A document that changes
     * between two reads is listed with its later time too.
     */
    async listChangedSince(instant: Date, limit: number): Promise<readonly D[]> {
      const listed: D[] = []
      while (listed.length < limit) {
        const size = Math.min(PAGE_SIZE_MAX, limit - listed.length)
        const last = listed.at(-1)
        const after = last && { updated_at: last.updated_at, [id_field]: Reflect.get(last, id_field) }
        const documents = await collection.find('by_updated', { from: instant }, { limit: size, after })
        listed.push(...documents)
        if (documents.length < size) break
      }
      return listed
    },
    /** A page of all documents, in the order of the index `in_order`. */
    listPage: (request: PageRequest): Promise<Page<D>> =>
      readPage({ collection, index: 'in_order', range: {}, token_scope: {}, position }, request),
    /** All documents of one merchant, in the order of their ids, which is the order of creation. */
    listByMerchant: (merchant_id: string): Promise<readonly D[]> =>
      collection.find('in_order', { equals: [merchant_id] }, { limit: LIST_MAX }),
  }
}
