import { expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { readCheckpoint, saveCheckpoint } from './checkpoints/checkpoint.ts'
import type { Batch, Entry } from './domain/entry.ts'
import { shardOf } from './domain/shard.ts'
import { applyNext, createShardState } from './domain/shard-state.ts'
import { credit, hold, openFixture } from './ledger.fixture.ts'
import { createLedger } from './ledger.ts'
import { JOURNAL } from './store/journal.ts'
import { listEntries } from './use-cases/list-entries.ts'
import { merchantsOfShard } from './use-cases/statement.fixture.ts'

const SHARD = shardOf('1000', 'test')

/** A ledger with a refused hold in batch 2, whose entry was altered to one that the ledger accepted. */
async function openAltered() {
  const fixture = await openFixture()
  const { store, opened, ledger } = fixture
  await ledger.submit('test', credit('a', 100n))
  expect(await ledger.submit('test', hold('h', 70_000n))).toMatchObject({
    recorded: { seq: 2n, entry: { refused_code: 6004 } },
  })
  const saveState = async (): Promise<void> => {
    const state = createShardState({ shard: SHARD })
    for (const batch of await store.journal.listBatches(SHARD, 1n, 10)) applyNext(state, batch)
    await saveCheckpoint(store.checkpoints, state, (await store.checkpoints.getHead(SHARD))?.version)
  }
  return {
    store,
    saveState,
    /** Does what somebody who can write the database, and has no key, can: hash and signature stay as they are. */
    async alter(): Promise<void> {
      const documents = await opened.collection<Batch & { readonly signature: string }>(JOURNAL)
      const stored = await documents.get({ shard: SHARD, seq: 2n })
      if (stored === undefined) throw new Error('the batch is not stored')
      const { version, ...before } = stored
      const entries = before.entries.map(({ refused_code: _, ...entry }): Entry => entry)
      await documents.replace({ ...before, entries }, version)
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  }
}

// O9
test('an entry that was altered behind a checkpoint answers no statement and no repeated command', async () => {
  await using altered = await openAltered()
  const { store } = altered
  await altered.saveState()
  // What follows the batch: the journal ends with one that is as it was written.
  const before = createLedger(store, trustedClock)
  await before.submit('test', credit('b', 1n))
  await before.stop()
  await altered.saveState()
  await altered.alter()
  expect(await readCheckpoint(store, SHARD)).toMatchObject({ status: 'sound' })

  const restarted = createLedger(store, trustedClock)
  const [account] = await restarted.accounts('test', '1000')
  expect(account).toMatchObject({ available: 101n, held: 0n })
  const message = `shard ${SHARD}: batch 2 does not match its hash; its content was altered`
  const statement = { environment: 'test', merchant_id: '1000', limit: 10 } as const
  await expect(listEntries(store.journal, statement)).rejects.toThrow(message)
  await expect(restarted.submit('test', hold('h', 70_000n))).rejects.toThrow(message)
  await restarted.stop()
})

// O9
test('a replay stops at an altered entry', async () => {
  await using altered = await openAltered()
  await altered.alter()
  const restarted = createLedger(altered.store, trustedClock)
  await expect(restarted.accounts('test', '1000')).rejects.toThrow('batch 2 does not match its hash')
  await restarted.stop()
})

// O9
test.each([
  ['into a later range, a bound is not taken from it', 2_500, {}, ['a', 'c']],
  ['past the end of the range', 3_500, {}, 'its content was altered'],
  ['before the beginning of the range', -500, { created_from: -1_000 }, 'its content was altered'],
  ['out of a range that begins with it', -500, { created_from: 1_000 }, 'its content was altered'],
])(
  'no altered time of another batch hides entries: moved %s',
  async (_where, moved_to, { created_from }: { created_from?: number }, expected) => {
    const clock = createAdjustableClock()
    clock.stopWall()
    const restoreClock = useClock(clock)
    try {
      await using fixture = await openFixture()
      const { store, opened, ledger } = fixture
      const [neighbour = ''] = merchantsOfShard(SHARD, 2).filter((merchant_id) => merchant_id !== '1000')
      const began = clock.now_ms()
      const at = (after_ms: number): Date => new Date(began + after_ms)
      // One batch per second: a, b of another merchant, c.
      for (const [id, merchant_id] of [
        ['a', '1000'],
        ['b', neighbour],
        ['c', '1000'],
      ] as const) {
        await ledger.submit('test', { ...credit(id, 100n), merchant_id })
        clock.stepWall(1_000)
      }
      const documents = await opened.collection<Batch>(JOURNAL)
      const stored = await documents.get({ shard: SHARD, seq: 2n })
      if (stored === undefined) throw new Error('the batch is not stored')
      const { version, ...before } = stored
      await documents.replace({ ...before, time: at(moved_to) }, version)
      const created_to = at(3_000)
      const query = { environment: 'test', merchant_id: '1000', limit: 10, created_to } as const
      const list = async () => {
        const from = created_from === undefined ? {} : { created_from: at(created_from) }
        const entries = await listEntries(store.journal, { ...query, ...from })
        return entries.map(({ entry }) => entry.id)
      }
      if (typeof expected === 'string') await expect(list()).rejects.toThrow(expected)
      else expect(await list()).toEqual(expected)
    } finally {
      restoreClock()
    }
  },
)
