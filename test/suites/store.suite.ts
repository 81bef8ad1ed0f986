import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { clock } from '#lib/base/time.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import { archiveSuite } from './store-archive.suite.ts'
import { blobsSuite } from './store-blobs.suite.ts'
import { countSuite } from './store-count.suite.ts'
import { documentsSuite } from './store-documents.suite.ts'
import { expirySuite } from './store-expiry.suite.ts'
import { findSuite } from './store-find.suite.ts'
import { groupsSuite } from './store-groups.suite.ts'
import { modelSuite } from './store-model.suite.ts'
import { orderSuite } from './store-order.suite.ts'
import { sharingSuite } from './store-sharing.suite.ts'

/** A test database. Several handles can be open on it and see the writes of each other. */
export interface TestDatabase {
  open(): Promise<Store>
  remove(): Promise<void>
}

/** The store and the collections that each part of the suite uses. */
export interface StoreUnderTest {
  /** Opens another handle on the same database. The caller closes it. */
  open(): Promise<Store>
  /** The handle that most tests use. */
  store(): Store
  /** Opens a collection with a unique name. `spec` replaces parts of `ITEMS`. */
  collection(spec?: Partial<CollectionSpec>): Promise<Collection<Item>>
  /** Makes a unique name for a collection. */
  name(): string
}

/** The documents of the suite: orders of shops. The shop is the partition. */
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
    by_due: { fields: ['due.at'], where: 'due.at', across_partitions: true },
  },
}

/**
 * The suite that every store must pass. `start` prepares an empty database. Both adapters run all of it, so that a service
 * that works on one also works on the other.
 */
export function storeSuite(title: string, start: () => Promise<TestDatabase>): void {
  describe(`the store: ${title}`, () => {
    let database: TestDatabase
    let shared: Store
    let names = 0

    beforeAll(async () => {
      database = await start()
      shared = await database.open()
    })
    afterAll(async () => {
      await shared.close()
      await database.remove()
    })

    const name = (): string => {
      names += 1
      return `items_${names}`
    }
    const subject: StoreUnderTest = {
      open: () => database.open(),
      store: () => shared,
      collection: (spec = {}) => shared.collection<Item>({ ...ITEMS, name: name(), ...spec }),
      name,
    }
    documentsSuite(subject)
    findSuite(subject)
    countSuite(subject)
    expirySuite(subject)
    blobsSuite(subject)
    sharingSuite(subject)
    modelSuite(subject)
    orderSuite(subject)
    groupsSuite(subject)
    archiveSuite(subject)

    test('reads the clock of the store', async () => {
      // The servers of the tests and the tests run on one machine.
      const before_ms = clock.now_ms()
      const read_ms = (await shared.readClock()).getTime()
      expect(read_ms).toBeGreaterThanOrEqual(before_ms - 1_000)
      expect(read_ms).toBeLessThanOrEqual(clock.now_ms() + 1_000)
    })
  })
}

/** Returns the error of a promise that must fail. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  const outcome = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome) return outcome.error
  throw new Error('it did not fail')
}
