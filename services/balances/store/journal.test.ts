import { expect, test } from '@jest/globals'
import type { Collection, Store } from '#lib/store/store.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, ledger_signer, openFixture } from '../ledger.fixture.ts'
import { openJournal } from './journal.ts'

const SHARD = shardOf('1000', 'test')

/** The store, in which the documents of the journal have other fields. */
function withFields(store: Store, change: Readonly<Record<string, unknown>>): Store {
  const altered = <D extends object>(collection: Collection<D>): Collection<D> => ({
    ...collection,
    async get(...query) {
      const document = await collection.get(...query)
      return document && { ...document, ...change }
    },
  })
  return { ...store, collection: async (spec) => altered(await store.collection(spec)) }
}

test.each([
  ['an id is missing', { ids: [] }],
  ['an id is another', { ids: ['another'] }],
  ['there is a surplus id', { ids: ['h', 'another'] }],
  ['a statement is missing', { statements: ['1000'] }],
  ['a statement is another', { statements: ['1000', 'another'] }],
  ['there is a surplus statement', { statements: ['1000', '1000\npayment of h', 'another'] }],
])('a batch is corrupt when %s in its indexed lists', async (_what, change) => {
  await using fixture = await openFixture()
  await fixture.ledger.submit('test', credit('a', 100n))
  await fixture.ledger.submit('test', hold('h', 10n))
  const journal = await openJournal(withFields(fixture.opened, {}), ledger_signer)
  expect(await journal.getBatch(SHARD, 2n)).toMatchObject({ entries: [{ id: 'h' }] })
  const altered = await openJournal(withFields(fixture.opened, change), ledger_signer)
  await expect(altered.getBatch(SHARD, 2n)).rejects.toThrow(CorruptJournal)
})

test.each(['amount', 'available', 'held'] as const)(
  'a batch is corrupt when the %s of an entry is of another type, which its hash does not show',
  async (field) => {
    await using fixture = await openFixture()
    await fixture.ledger.submit('test', credit('a', 100n))
    const { entries = [] } = (await fixture.store.journal.getBatch(SHARD, 1n)) ?? {}
    const changed = entries.map((entry) => ({ ...entry, [field]: Number(entry[field]) }))
    const altered = await openJournal(withFields(fixture.opened, { entries: changed }), ledger_signer)
    await expect(altered.getBatch(SHARD, 1n)).rejects.toThrow('does not have the form of a batch')
  },
)
