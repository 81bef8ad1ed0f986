import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { openArchiveFixture } from './archive.fixture.ts'
import type { Command } from './domain/command.ts'
import { shardOf } from './domain/shard.ts'
import { openFixture } from './ledger.fixture.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { commands, MERCHANTS } from './ledger-commands.fixture.ts'
import type { LedgerStore } from './store/ledger-store.ts'

const SHARD = shardOf(MERCHANTS[0], 'test')

/** What a process that begins now shows and decides: it has nothing in memory, so old entries come from the journal. */
async function showAndDecide(store: LedgerStore, list: readonly Command[]) {
  const ledger = createLedger(store, trustedClock)
  try {
    const results = await Promise.all(list.map((command) => ledger.submit('test', command)))
    return { results, ...(await show(ledger)) }
  } finally {
    await ledger.stop()
  }
}

async function show(ledger: Ledger) {
  return {
    accounts: await Promise.all(MERCHANTS.map((merchant_id) => ledger.accounts('test', merchant_id))),
    statements: await Promise.all(
      MERCHANTS.flatMap((merchant_id) => [
        ledger.listEntries({ environment: 'test', merchant_id, limit: 100 }),
        ledger.listEntries({
          environment: 'test',
          merchant_id,
          kind: 'adjustment',
          newest_first: true,
          limit: 3,
        }),
      ]),
    ),
    entries: await Promise.all(
      Array.from({ length: 10 }, (_, number) => ledger.getEntry('test', MERCHANTS[0], `hold-${number}`)),
    ),
  }
}

let archived_batches = 0

test('a ledger whose batches are archived at random decides and shows what the same ledger without an archive does', async () => {
  const chunk = fc.record({
    list: commands({ min: 1, max: 12 }),
    archived: fc.array(fc.bigInt({ min: 1n, max: 12n }), { maxLength: 8 }),
  })
  const property = fc.asyncProperty(fc.array(chunk, { minLength: 2, maxLength: 6 }), async (chunks) => {
    // Both ledgers have the same times then.
    using _manual = installManualClock()
    await using plain = await openFixture()
    await using archive = await openArchiveFixture()
    for (const { list, archived } of chunks) {
      const expected = await showAndDecide(plain.store, list)
      expect(await showAndDecide(archive.store, list)).toEqual(expected)
      archived_batches += await archive.archiveBatches(SHARD, [...new Set(archived)])
    }
    const shown = await showAndDecide(archive.store, [])
    expect(shown).toEqual(await showAndDecide(plain.store, []))
  })
  await fc.assert(property, { numRuns: propertyRuns(40) })
  expect(archived_batches).toBeGreaterThan(propertyRuns(40))
}, 300_000)
