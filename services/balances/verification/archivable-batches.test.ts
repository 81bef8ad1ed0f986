import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { CollectionSpec, Store } from '#lib/store/store.ts'
import { type ArchiveFixture, checkpointAt, LATER, openArchiveFixture } from '../archive.fixture.ts'
import { shardOf } from '../domain/shard.ts'
import { ledger_signer } from '../ledger.fixture.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import { listArchivable } from './archivable-batches.ts'
import { storeWrongCheckpoint, verifyLedger, writeJournal } from './verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

let archive: ArchiveFixture
/** Six batches with a checkpoint and a verification at the last one, so five can be archived. */
beforeEach(async () => {
  archive = await openArchiveFixture()
  await writeJournal(archive.store, 6)
  await checkpointAt(archive.store, SHARD)
  await verifyLedger(archive.store)
})
afterEach(() => archive[Symbol.asyncDispose]())

// O24.1
test('nothing of a shard with a known problem is archived, until a verification finds none', async () => {
  await storeWrongCheckpoint(archive.store, SHARD)
  // The verification has replaced the wrong checkpoint, so only its problem is left.
  expect((await verifyLedger(archive.store)).problems).toHaveLength(1)
  expect(await archive.archive()).toBe(0)
  // The next verification has not come to it yet.
  const { verifications } = archive.store
  const stored = await verifications.getShard(SHARD)
  if (stored === undefined) throw new Error('the shard has no verification')
  const { version, ...found } = stored
  await verifications.putShard({ ...found, status: 'running', problems: [] }, version)
  expect(await archive.archive()).toBe(0)
  expect(await verifyLedger(archive.store)).toMatchObject({ problems: [] })
  expect(await archive.archive()).toBe(5)
})

// O24.1
test.each<[string, (shard: number) => Promise<unknown>]>([
  [
    'a stop',
    (shard) =>
      archive.store.stops.update(shard, () => ({
        shard,
        seq: 1n,
        description: 'altered',
        verification_id: 'v',
        found_at: LATER,
        stopped_since: LATER,
        operation_ids: [],
      })),
  ],
  [
    'a problem',
    async (shard) => {
      await storeWrongCheckpoint(archive.store, shard)
      await verifyLedger(archive.store)
    },
  ],
])('%s of a shard ends its list, after what was read', async (_what, happen) => {
  const shard = shardOf('2000', 'test')
  await writeJournal(archive.store, 2 * BATCHES_PER_READ, '2000')
  await checkpointAt(archive.store, shard)
  await verifyLedger(archive.store)
  const listed: bigint[] = []
  for await (const document of listArchivable(archive.fixture.opened, LATER, ledger_signer, 0n)) {
    if (document.shard !== shard) continue
    if (listed.push(document.seq) === 1) await happen(shard)
  }
  expect(listed).toHaveLength(BATCHES_PER_READ)
})

test('nothing behind a checkpoint that cannot be used is archived', async () => {
  const { checkpoints } = archive.store
  for (const part of (await checkpoints.getHead(SHARD))?.parts ?? [])
    await checkpoints.deletePart(SHARD, part)
  expect(await archive.archive()).toBe(0)
})

test('a store that is down ends the list with its failure, and not as if nothing could be archived', async () => {
  const { opened } = archive.fixture
  const down: Store = {
    ...opened,
    async collection<D extends object>(spec: CollectionSpec) {
      const find = () => Promise.reject(new Unavailable('the store is down'))
      return { ...(await opened.collection<D>(spec)), find }
    },
  }
  await expect(listArchivable(down, LATER, ledger_signer).next()).rejects.toThrow('the store is down')
})
