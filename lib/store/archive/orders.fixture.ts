import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTestStore } from '../../../test/support/store.ts'
import type { Collection, Stored } from '../store.ts'
import { createArchiveReader } from './archive-reader.ts'
import { withArchive } from './archived-collections.ts'
import type { ArchivedSpec } from './archived-document.ts'

/** A small document whose text goes to the archive. */
export interface Order {
  readonly shop: string
  readonly id: number
  readonly text: string
}

export const ORDERS: ArchivedSpec = {
  name: 'orders',
  partition: ['shop'],
  key: ['shop', 'id'],
  archive: { keeps: [] },
}

/** What archives orders in tests: a store of its own, and the place of a directory for the files. */
export type OrdersFixture = Awaited<ReturnType<typeof openOrders>>

/** Stores so many orders of one shop. Their ids begin at 0. */
export async function openOrders(count: number) {
  const home = await mkdtemp(join(tmpdir(), 'multihub-archive-'))
  const directory = join(home, 'archive')
  const opened = await openTestStore()
  const stored = await opened.store.collection<Order>(ORDERS)
  await Promise.all(
    Array.from({ length: count }, (_, id) => stored.insert({ shop: 'a', id, text: `text ${id}` })),
  )
  return {
    home,
    directory,
    /** The orders as they are stored, with stubs. */
    stored,
    readStored: (): Promise<readonly Stored<Order>[]> =>
      stored.find('key', { equals: ['a'] }, { limit: 1_000 }),
    /** The orders as services read and write them. */
    openWhole: (reader = createArchiveReader(directory)): Promise<Collection<Order>> =>
      withArchive(opened.store, reader).collection<Order>(ORDERS),
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]()
      await rm(home, { recursive: true, force: true })
    },
  }
}
