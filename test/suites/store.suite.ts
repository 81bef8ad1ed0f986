import { afterAll, beforeAll, describe } from '@jest/globals'
import type { Collection, CollectionSpec, Store } from '#lib/platform/store/port.ts'
import { blobsContract } from './store-blobs.suite.ts'
import { documentsContract } from './store-documents.suite.ts'
import { expiryContract } from './store-expiry.suite.ts'
import { findContract } from './store-find.suite.ts'
import { modelContract } from './store-model.suite.ts'
import { sharingContract } from './store-sharing.suite.ts'

/** A place for a store: several handles may be open on it, and what one wrote the others see. */
export interface StorePlace {
  open(): Promise<Store>
  remove(): Promise<void>
}

/** What each part of the contract works with. */
export interface StoreUnderTest {
  /** Another handle on the same place; whoever opens it closes it. */
  open(): Promise<Store>
  /** The handle that most tests share. */
  store(): Store
  /** A collection of its own for each test: `spec` under a name that nobody else has. */
  collection(spec?: Partial<CollectionSpec>): Promise<Collection<Item>>
  /** A name that nobody else has. */
  name(): string
}

/** The documents of the contract: a shop's orders. The shop is the partition. */
export interface Item {
  readonly shop: string
  readonly id: string | number | bigint | Date
  readonly [field: string]: unknown
}

/** The collection that most tests use. */
export const ITEMS: Omit<CollectionSpec, 'name'> = {
  partition: ['shop'],
  key: ['shop', 'id'],
  indexes: {
    by_rank: { fields: ['shop', 'rank'] },
    by_code: { fields: ['shop', 'code'], unique: true, where: 'code' },
    by_tag: { fields: ['shop', 'tags[]'] },
    by_serial: { fields: ['shop', 'serials[]'], unique: true },
    by_due: { fields: ['due.at'], where: 'due.at', across: true },
  },
}

/**
 * What every store promises, whatever it is made of. `start` prepares an empty place. Both adapters run all of it, so
 * that a service which works on one works on the other.
 */
export function storeContract(title: string, start: () => Promise<StorePlace>): void {
  describe(`store contract: ${title}`, () => {
    let place: StorePlace
    let shared: Store
    let names = 0

    beforeAll(async () => {
      place = await start()
      shared = await place.open()
    })
    afterAll(async () => {
      await shared.close()
      await place.remove()
    })

    const name = (): string => {
      names += 1
      return `items_${names}`
    }
    const subject: StoreUnderTest = {
      open: () => place.open(),
      store: () => shared,
      collection: (spec = {}) => shared.collection<Item>({ ...ITEMS, name: name(), ...spec }),
      name,
    }
    documentsContract(subject)
    findContract(subject)
    expiryContract(subject)
    blobsContract(subject)
    sharingContract(subject)
    modelContract(subject)
  })
}

/** Runs a promise that is to fail, and answers what it failed with. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  const outcome = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome) return outcome.error
  throw new Error('it did not fail')
}
