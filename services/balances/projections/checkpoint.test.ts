import { expect, test } from '@jest/globals'
import { emptyAccounts } from '../domain/merchant-accounts.ts'
import type { ShardSnapshot } from '../domain/shard-state.ts'
import { openFixture } from '../ledger.fixture.ts'
import { loadCheckpoint, saveCheckpoint } from './checkpoint.ts'
import { isSameSnapshot } from './compare-projections.ts'

const SHARD = 3

function snapshotAt(seq: bigint, holds: number): ShardSnapshot {
  return {
    shard: SHARD,
    head: { seq, time_ms: Number(seq) * 1_000, hash: `hash ${seq}` },
    accounts: [{ ...emptyAccounts('1', 'INR'), held: BigInt(holds), clearing: -BigInt(holds) }],
    holds: Array.from({ length: holds }, (_, index) => ({
      id: `h${index}`,
      merchant_id: '1',
      currency: 'INR',
      amount: 1n,
    })),
  }
}

test('loads a checkpoint of many holds as it was saved', async () => {
  await using fixture = await openFixture()
  const { checkpoints } = fixture.store
  const snapshot = snapshotAt(7n, 4_500)
  await saveCheckpoint(checkpoints, snapshot)
  const loaded = await loadCheckpoint(checkpoints, SHARD)
  expect(loaded && isSameSnapshot(loaded, snapshot)).toBe(true)
})

test('replaces a checkpoint only by a later one, and deletes the parts of the old one', async () => {
  await using fixture = await openFixture()
  const { checkpoints } = fixture.store
  await Promise.all([5n, 9n, 7n, 2n].map((seq) => saveCheckpoint(checkpoints, snapshotAt(seq, 10))))
  await saveCheckpoint(checkpoints, snapshotAt(8n, 10))
  expect((await loadCheckpoint(checkpoints, SHARD))?.head.seq).toBe(9n)
  await saveCheckpoint(checkpoints, snapshotAt(10n, 1))
  expect((await loadCheckpoint(checkpoints, SHARD))?.holds).toHaveLength(1)
  for (const seq of [2n, 5n, 7n, 8n, 9n]) expect(await checkpoints.getPart(SHARD, seq, 0)).toBeUndefined()
})

test('refuses to load a checkpoint that lacks a part', async () => {
  await using fixture = await openFixture()
  const { checkpoints } = fixture.store
  await saveCheckpoint(checkpoints, snapshotAt(5n, 10))
  await checkpoints.deletePartsBefore(SHARD, 6n)
  await expect(loadCheckpoint(checkpoints, SHARD)).rejects.toThrow('the checkpoint lacked parts')
})
