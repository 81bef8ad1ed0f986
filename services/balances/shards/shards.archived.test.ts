import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { type ArchiveFixture, checkpointAt, openArchiveFixture } from '../archive.fixture.ts'
import { shardOf } from '../domain/shard.ts'
import { credit } from '../ledger.fixture.ts'
import type { Ledger } from '../ledger.ts'
import { verifyLedger } from '../verification/verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

let archive: ArchiveFixture
beforeEach(async () => {
  archive = await openArchiveFixture()
})
afterEach(() => archive[Symbol.asyncDispose]())

/** Books credits in batches of their own, which are archived but for the last one. */
async function bookArchived(ids: readonly string[]): Promise<void> {
  const ledger = archive.begin()
  for (const id of ids) expect(await ledger.submit('test', credit(id, 1n))).toHaveProperty('recorded')
  await checkpointAt(archive.store, SHARD)
  await verifyLedger(archive.store)
  await archive.archive()
}

const failureOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error)

// B4.7
test.each<[string, (ledger: Ledger) => Promise<unknown>]>([
  ['command', (ledger) => ledger.submit('test', credit('new', 1n))],
  ['read', (ledger) => ledger.accounts('test', '1000')],
])('a shard that fell behind archived batches is loaded again after one %s', async (_what, use) => {
  await archive.begin().submit('test', credit('a', 1n))
  const behind = archive.begin(archive.store_without_archive)
  expect(await behind.accounts('test', '1000')).toMatchObject([{ available: 1n }])
  await bookArchived(['b', 'c', 'd'])
  const failure = await failureOf(use(behind))
  expect(failure).toBeInstanceOf(Unavailable)
  expect(failure).not.toBeInstanceOf(ArchiveUnavailable)
  expect(await behind.submit('test', credit('e', 1n))).toMatchObject({ recorded: { seq: 5n } })
  expect(await behind.accounts('test', '1000')).toMatchObject([{ available: 5n }])
})

test('a shard that cannot be loaded without the archive is not loaded again for each command', async () => {
  await bookArchived(['a', 'b', 'c'])
  const { checkpoints } = archive.store_without_archive
  for (const part of (await checkpoints.getHead(SHARD))?.parts ?? [])
    await checkpoints.deletePart(SHARD, part)
  let reads = 0
  const counted: typeof checkpoints = {
    ...checkpoints,
    async getHead(shard) {
      reads += 1
      return await checkpoints.getHead(shard)
    },
  }
  const ledger = archive.begin({ ...archive.store_without_archive, checkpoints: counted })
  const failureOfCredit = (id: string) => failureOf(ledger.submit('test', credit(id, 1n)))
  expect(await failureOfCredit('d')).toHaveProperty('name', 'NoUsableCheckpoint')
  const reads_of_load = reads
  expect(await failureOfCredit('e')).toHaveProperty('name', 'NoUsableCheckpoint')
  expect(reads).toBe(reads_of_load)
})
