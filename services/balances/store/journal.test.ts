import { expect, test } from '@jest/globals'
import type { Collection, Store } from '#lib/store/store.ts'
import { openArchiveFixture } from '../archive.fixture.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, ledger_signer, openFixture } from '../ledger.fixture.ts'
import { writeJournal } from '../verification/verification.fixture.ts'
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

// A server takes what `Store` refuses to write.
test.each<[string, Readonly<Record<string, unknown>>]>([
  ['has a time with the same text as the true one', { time: { $date: '1970-01-01T00:00:00.001Z' } }],
  ['has a value that no document can hold', { more: new Date(Number.NaN) }],
])('a stub is corrupt that %s', async (_what, change) => {
  await using archive = await openArchiveFixture()
  await writeJournal(archive.store, 1)
  await archive.archiveBatches(SHARD, [1n])
  const journal = await openJournal(withFields(archive.fixture.opened, {}), ledger_signer)
  expect(await journal.getHash(SHARD, 1n)).toMatch(/^[0-9a-f]{64}$/)
  const altered = await openJournal(withFields(archive.fixture.opened, change), ledger_signer)
  await expect(altered.getHash(SHARD, 1n)).rejects.toThrow('was not signed')
})
