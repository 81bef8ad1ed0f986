import { expect, test } from '@jest/globals'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { checkpointAt, openArchiveFixture } from '../archive.fixture.ts'
import type { Command } from '../domain/command.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, resolve } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { verifyLedger } from '../verification/verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

/** The results, or failures, of commands in a process that begins and ends with them. */
async function submit(store: LedgerStore, ...commands: readonly Command[]): Promise<unknown[]> {
  const ledger = createLedger(store, trustedClock)
  const results: unknown[] = []
  for (const command of commands)
    results.push(await ledger.submit('test', command).catch((error: unknown) => error))
  await ledger.stop()
  return results
}

test('a release of a hold whose entry cannot be read is decided later: the hold may have been refused', async () => {
  await using archive = await openArchiveFixture()
  const { store, store_without_archive } = archive
  await submit(store, hold('refused', 50n), credit('a', 100n))
  await checkpointAt(store, SHARD)
  await verifyLedger(store)
  expect(await archive.archive()).toBe(1)
  const release = resolve('release', 'refused')
  expect(await submit(store_without_archive, release)).toEqual([expect.any(ArchiveUnavailable)])
  expect(await store.journal.lastSequence(SHARD)).toBe(2n)
  const recorded = { recorded: { seq: 3n, entry: { refused_code: 6004 } } }
  expect(await submit(store, release)).toMatchObject([recorded])
  // Its own entry is not archived, so its repetition needs nothing else.
  await checkpointAt(store, SHARD)
  expect(await submit(store_without_archive, release)).toMatchObject([recorded])
})
