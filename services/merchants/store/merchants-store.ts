import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Conflict } from '#lib/platform/store/errors.ts'
import type { Collection, CollectionSpec, Store, Stored } from '#lib/platform/store/port.ts'
import { now } from '#lib/platform/time.ts'
import type { Credential } from '../domain/credential.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { Merchant } from '../domain/merchant.ts'
import type { Route } from '../domain/route.ts'

/** The most that any list of one merchant's things holds; creation stops well before. */
const LIST_MAX = 1_000

/** So often a guarded write that met another one is decided anew. */
const TRIES_MAX = 10

/** What all documents of the registry have. */
interface Registered {
  readonly merchant_id: string
  readonly updated_at: Date
}

/** One kind of thing in the registry. Things are changed, never deleted. */
export interface Table<D extends Registered, Id> {
  insert(document: D): Promise<D>
  get(id: Id): Promise<D | undefined>
  /** What `decide` answers is written into the document it was shown, at one blow; `undefined` when there is none. */
  change(id: Id, decide: (current: D) => Partial<D>): Promise<D | undefined>
  /** Whatever was created or changed at `instant` or later, the earliest first. */
  changedSince(instant: Date, limit: number): Promise<D[]>
}

/** A kind of thing that merchants own. */
export interface OwnedTable<D extends Registered, Id> extends Table<D, Id> {
  /** All of a merchant's, in the order of their creation. */
  ofMerchant(merchant_id: string): Promise<D[]>
}

/** What numbers are counted for. */
export type Numbered = 'merchant' | 'application' | 'service'

/** The registry's documents. */
export interface MerchantsStore {
  readonly merchants: Table<Merchant, string> & {
    /** Merchants behind a number, in the order of their numbers. */
    after(number: number, limit: number): Promise<Merchant[]>
  }
  readonly credentials: OwnedTable<Credential, number>
  readonly routes: OwnedTable<Route, number>
  readonly endpoints: OwnedTable<Endpoint, string>
  /** The next number of its kind. A crash may leave one unused; none is given twice. */
  nextNumber(kind: Numbered): Promise<number>
  /** Where the numbers of a kind begin and end; the highest is one less than the lowest while none was given. */
  givenNumbers(kind: Numbered): Promise<NumberRange>
}

/** Every number that was given lies in it, both ends included. */
export interface NumberRange {
  readonly lowest: number
  readonly highest: number
}

// Never to be raised: readers take it that nothing has a lower number.
const FIRST_NUMBER = { merchant: 1_001, application: 20_001, service: 30_001 } as const

/**
 * Opens the collections. They are small and read through caches, so each is divided by its own id, which is all that
 * most readers have, and the few lists by merchant ask every part.
 */
export async function openMerchantsStore(store: Store): Promise<MerchantsStore> {
  const merchants = await store.collection<Merchant>(specOf('merchants', 'merchant_id', ['number']))
  const counters = await store.collection<{ name: string; value: bigint }>({
    name: 'counters',
    partition: ['name'],
    key: ['name'],
  })
  return {
    merchants: {
      ...tableOf<Merchant, string>(merchants, 'merchant_id'),
      after: (number, limit) => merchants.find('in_order', { from: number + 1 }, { limit }),
    },
    credentials: await openOwned<Credential, number>(store, 'credentials', 'application_id'),
    routes: await openOwned<Route, number>(store, 'routes', 'service_id'),
    endpoints: await openOwned<Endpoint, string>(store, 'endpoints', 'endpoint_id'),
    async nextNumber(kind) {
      const { value } = await counters.increment({ name: kind }, 'value', 1n)
      return FIRST_NUMBER[kind] + Number(value) - 1
    },
    async givenNumbers(kind) {
      const counter = await counters.get({ name: kind })
      const lowest = FIRST_NUMBER[kind]
      return { lowest, highest: lowest + Number(counter?.value ?? 0n) - 1 }
    },
  }
}

function specOf(name: string, id_field: string, order: readonly string[]): CollectionSpec {
  return {
    name,
    partition: [id_field],
    key: [id_field],
    indexes: {
      in_order: { fields: order, across: true },
      by_updated: { fields: ['updated_at'], across: true },
    },
  }
}

async function openOwned<D extends Registered, Id extends string | number>(
  store: Store,
  name: string,
  id_field: string,
): Promise<OwnedTable<D, Id>> {
  const collection = await store.collection<D>(specOf(name, id_field, ['merchant_id', id_field]))
  return {
    ...tableOf<D, Id>(collection, id_field),
    ofMerchant: (merchant_id) => collection.find('in_order', { equals: [merchant_id] }, { limit: LIST_MAX }),
  }
}

function tableOf<D extends Registered, Id extends string | number>(
  collection: Collection<D>,
  id_field: string,
): Table<D, Id> {
  const get = (id: Id): Promise<Stored<D> | undefined> => collection.get({ [id_field]: id })
  return {
    insert: (document) => collection.insert(document),
    get,
    async change(id, decide) {
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const current = await get(id)
        if (!current) return undefined
        try {
          return await collection.replace(
            { ...current, ...decide(current), updated_at: now() },
            current.version,
          )
        } catch (error) {
          if (!(error instanceof Conflict)) throw error
        }
      }
      throw new Unavailable('too many changes of one document at once')
    },
    changedSince: (instant, limit) => collection.find('by_updated', { from: instant }, { limit }),
  }
}
