import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Collection, CollectionSpec, Store, Stored } from '#lib/store/store.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import type { Command } from '../domain/command.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, ledger_signer, openFixture } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import type { Journal } from '../store/journal.ts'
import { openLedgerStore } from '../store/ledger-store.ts'
import { listEntries } from './list-entries.ts'
import { failingOver, merchantsOfShard, readStatement } from './statement.fixture.ts'

const MERCHANTS = ['1000', ...merchantsOfShard(shardOf('1000', 'test'), 2)] as const

/** A store that counts the writes of each collection. */
function countingStore(store: Store, writes: Map<string, number>): Store {
  return {
    ...store,
    async collection<D extends object>(spec: CollectionSpec): Promise<Collection<D>> {
      const collection = await store.collection<D>(spec)
      const counted = async (write: Promise<Stored<D>>): Promise<Stored<D>> => {
        writes.set(spec.name, (writes.get(spec.name) ?? 0) + 1)
        return await write
      }
      return {
        ...collection,
        insert: (document) => counted(collection.insert(document)),
        replace: (document, version) => counted(collection.replace(document, version)),
      }
    },
  }
}

test('a batch costs one write, whatever is read afterwards', async () => {
  await using fixture = await openFixture()
  const writes = new Map<string, number>()
  const store = await openLedgerStore(countingStore(fixture.opened, writes), ledger_signer)
  const ledger = createLedger(store, trustedClock)
  const commands = Array.from({ length: 200 }, (_, number) => hold(`h${number}`, 1n))
  await Promise.all(commands.map((command) => ledger.submit('test', command)))
  const query = { environment: 'test', merchant_id: '1000', limit: 101 } as const
  expect(await ledger.listEntries(query)).toHaveLength(101)
  const batches = Number(await store.journal.lastSequence(shardOf('1000', 'test')))
  expect([...writes]).toEqual([['journal', batches]])
  await ledger.stop()
})

test('pages of any size have each entry of the merchant, or of its payment, once and in order', async () => {
  const command = fc.record({
    merchant: fc.constantFrom(...MERCHANTS),
    payment: fc.constantFrom(undefined, 'p', 'q', 'p q'),
  })
  const batches = fc.array(fc.array(command, { minLength: 1, maxLength: 40 }), {
    minLength: 1,
    maxLength: 12,
  })
  const property = fc.asyncProperty(batches, fc.integer({ min: 1, max: 9 }), async (groups, limit) => {
    await using fixture = await openFixture()
    const { ledger } = fixture
    const expected: Command[] = []
    for (const [at, group] of groups.entries()) {
      const commands = group.map(
        ({ merchant, payment }, number): Command => ({
          ...credit(`${at} ${number}`, 1n, merchant),
          ...(payment === undefined ? {} : { payment_id: payment }),
        }),
      )
      expected.push(...commands)
      await Promise.all(commands.map((one) => ledger.submit('test', one)))
    }
    for (const merchant_id of MERCHANTS) {
      for (const payment_id of [undefined, 'p', 'q', 'p q', 'absent']) {
        const belongs = (one: Command): boolean =>
          one.merchant_id === merchant_id &&
          (payment_id === undefined || ('payment_id' in one && one.payment_id === payment_id))
        const ids = await readStatement(ledger, { environment: 'test', merchant_id, payment_id, limit })
        expect(ids).toEqual(expected.filter(belongs).map(({ id }) => id))
      }
    }
  })
  await fc.assert(property, { numRuns: 20 })
}, 120_000)

test('a page reads no more batches than it has entries', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  const [quiet, busy] = MERCHANTS
  for (let batch = 0; batch < 60; batch += 1) {
    const commands = Array.from({ length: 5 }, (_, number) => credit(`${batch} ${number}`, 1n, busy))
    await Promise.all(
      [...commands, credit(`quiet ${batch}`, 1n, quiet)].map((one) => ledger.submit('test', one)),
    )
  }
  let reads = 0
  const listStatementBatches: Journal['listStatementBatches'] = async (...range) => {
    const batches = await store.journal.listStatementBatches(...range)
    reads += batches.length
    return batches
  }
  const page = await listEntries(
    { ...store.journal, listStatementBatches },
    { environment: 'test', merchant_id: quiet, limit: 26 },
  )
  expect(page.map(({ entry }) => entry.id)).toEqual(
    Array.from({ length: 26 }, (_, batch) => `quiet ${batch}`),
  )
  expect(reads).toBeLessThanOrEqual(26)
})

test('a former primary with an older journal is not asked', async () => {
  await using fixture = await openFixture()
  await fixture.ledger.submit('test', credit('a', 1n))
  const failOver = failingOver(fixture.opened)
  const ledger = createLedger(await openLedgerStore(failOver.store, ledger_signer), trustedClock)
  failOver.begin()
  expect(await ledger.listEntries({ environment: 'test', merchant_id: '1000', limit: 2 })).toHaveLength(1)
  await ledger.stop()
})
