import { expect, test } from '@jest/globals'
import type { Collection, Store } from '#lib/store/store.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { shardOf } from '../domain/shard.ts'
import { createShardState } from '../domain/shard-state.ts'
import { credit, ledger_signer, openFixture } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import { openJournal } from '../store/journal.ts'
import { openLedgerStore } from '../store/ledger-store.ts'
import { catchUp } from './shard-processor.ts'

const SHARD = shardOf('1000', 'test')

/** A store during a fail-over: a former primary answers all reads but linearizable ones, and knows no document. */
function atFormerPrimary(store: Store): Store {
  const outdated = <D extends object>(collection: Collection<D>): Collection<D> => ({
    ...collection,
    get: async (key, options) => (options?.linearizable ? await collection.get(key) : undefined),
    find: async () => [],
  })
  return { ...store, collection: async (spec) => outdated(await store.collection(spec)) }
}

test('a journal is read to its real end, also when a former primary answers ordinary reads', async () => {
  await using fixture = await openFixture()
  for (const id of ['a', 'b', 'c']) await fixture.ledger.submit('test', credit(id, 1n))
  const state = createShardState({ shard: SHARD })
  await catchUp(state, await openJournal(atFormerPrimary(fixture.opened), ledger_signer))
  expect(state.head().seq).toBe(3n)
})

test('a process that loads a shard during a fail-over decides on all committed entries', async () => {
  await using fixture = await openFixture()
  await fixture.ledger.submit('test', credit('a', 100n))
  const ledger = createLedger(
    await openLedgerStore(atFormerPrimary(fixture.opened), ledger_signer),
    trustedClock,
  )
  expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 100n }])
  await ledger.stop()
})
