import { expect, test } from '@jest/globals'
import { shardOf } from '../domain/shard.ts'
import { openFixture } from '../ledger.fixture.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { resumeShard } from '../use-cases/resume-shard.ts'
import { journalOf, verifyLedger, withBatches, writeJournal } from './verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

// B4.5
test('a verification from the first batch finds the loss too, and ends its stop only when the batches are back', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const batches = await writeJournal(store, 30)
  await verifyLedger(store)
  const cut = withBatches(store, batches, 20n)
  for (const from_first_batch of [true, false, true, true]) {
    expect(await verifyLedger(cut, from_first_batch)).toEqual({
      entries: 20n,
      problems: [`shard ${SHARD}, batch 30: batch 30 was verified earlier and is missing`],
    })
    expect(await store.stops.listStopped()).toMatchObject([{ shard: SHARD, seq: 30n }])
  }
  expect(await verifyLedger(store)).toEqual({ entries: 30n, problems: [] })
  expect(await store.stops.listStopped()).toEqual([])
})

// B4.9
test('a journal that was cut off and has grown again is found each time, until its batches are back or given up', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 30)
  await verifyLedger(store)
  for (const batch of journalOf(35).slice(30)) await store.journal.append(batch)
  const other = withBatches(store, journalOf(35, '1000', 2n))
  for (const from_first_batch of [true, false, true, true]) {
    expect(await verifyLedger(other, from_first_batch)).toEqual({
      entries: 35n,
      problems: [`shard ${SHARD}, batch 30: batch 30 is not the one that was verified earlier`],
    })
    expect(await store.stops.listStopped()).toMatchObject([{ shard: SHARD, seq: 30n }])
  }
  const { seq = 0n, verification_id = '' } = (await store.stops.get(SHARD)) ?? {}
  await resumeShard(store.stops, SHARD, { seq, verification_id, operation_id: 'op', reason: 'compared' })
  expect(await verifyLedger(other)).toEqual({ entries: 35n, problems: [] })
  expect(await verifyLedger(other, false)).toEqual({ entries: 35n, problems: [] })
})

// B4.5, B4.9
test('a verification that is killed after it has ended the stop of a given up batch does not stop the shard again', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 30)
  await verifyLedger(store)
  const other = withBatches(store, journalOf(30, '1000', 2n))
  await verifyLedger(other)
  const { seq = 0n, verification_id = '' } = (await store.stops.get(SHARD)) ?? {}
  await resumeShard(store.stops, SHARD, { seq, verification_id, operation_id: 'op', reason: 'compared' })
  let is_killed = false
  const dying: LedgerStore = {
    ...other,
    verifications: {
      ...other.verifications,
      async putShard(shard, version) {
        if (shard.status !== 'done' || shard.shard !== SHARD || is_killed)
          return other.verifications.putShard(shard, version)
        is_killed = true
        throw new Error('the process is killed')
      },
    },
  }
  expect(await verifyLedger(dying)).toEqual({ entries: 30n, problems: [] })
  expect(is_killed).toBe(true)
  expect(await store.stops.listStopped()).toEqual([])
})

// B4.5
test('a shard whose lost batches the operator gave up is sound again when its journal is as long as before', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 30)
  await verifyLedger(store)
  await verifyLedger(withBatches(store, journalOf(20), 20n))
  const { seq = 0n, verification_id = '' } = (await store.stops.get(SHARD)) ?? {}
  await resumeShard(store.stops, SHARD, { seq, verification_id, operation_id: 'op', reason: 'compared' })
  const other = journalOf(30, '1000', 2n)
  expect((await verifyLedger(withBatches(store, other, 25n))).problems).toHaveLength(1)
  expect(await store.stops.listStopped()).toEqual([])
  expect(await verifyLedger(withBatches(store, other))).toEqual({ entries: 30n, problems: [] })
})
