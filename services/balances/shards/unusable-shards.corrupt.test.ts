import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, type LedgerFixture, NEXT_FORMATS, openFixture, withJournal } from '../ledger.fixture.ts'
import { createLedger, type Ledger } from '../ledger.ts'
import { UNUSABLE_SHARD_MS } from '../limits.ts'
import type { Journal } from '../store/journal.ts'
import { journalOf } from '../verification/verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

let fixture: LedgerFixture
let manual: InstalledClock

beforeEach(async () => {
  fixture = await openFixture()
  manual = installManualClock()
})
afterEach(async () => {
  manual[Symbol.dispose]()
  await fixture[Symbol.asyncDispose]()
})

const failureOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error)

/** A ledger that finds the journal of the shard altered until `restore` is called, and counts its reads. */
async function openAltered(): Promise<{ ledger: Ledger; restore: () => void; reads: () => number }> {
  await fixture.ledger.submit('test', credit('a', 5n))
  const { journal } = fixture.store
  let is_altered = true
  let reads = 0
  const listBatches: Journal['listBatches'] = async (...range) => {
    reads += 1
    const batches = await journal.listBatches(...range)
    return is_altered ? batches.map((batch) => ({ ...batch, previous_hash: 'altered' })) : batches
  }
  const ledger = createLedger(withJournal(fixture.store, { listBatches }), trustedClock)
  return {
    ledger,
    restore: () => {
      is_altered = false
    },
    reads: () => reads,
  }
}

test('a corrupt journal is named, and stops only its own shard', async () => {
  const { ledger } = await openAltered()
  expect(ledger.limitations()).toEqual([])
  expect(await failureOf(ledger.submit('test', credit('b', 1n)))).toBeInstanceOf(CorruptJournal)
  expect(await failureOf(ledger.accounts('test', '1000'))).toBeInstanceOf(CorruptJournal)
  expect(ledger.limitations()).toEqual([`shard ${SHARD}: corrupt`])
  expect(await ledger.decideForwarded(SHARD, [credit('c', 1n)])).toEqual(['unavailable'])
  expect(await ledger.accounts('test', '1001')).toEqual([])
  await ledger.stop()
})

test('a corrupt journal is not replayed for each command, and the shard is used again after it was restored', async () => {
  const { ledger, restore, reads } = await openAltered()
  await failureOf(ledger.submit('test', credit('b', 1n)))
  const before = reads()
  for (let number = 0; number < 10; number += 1) await failureOf(ledger.submit('test', credit('b', 1n)))
  expect(reads()).toBe(before)
  restore()
  await manual.advance(UNUSABLE_SHARD_MS)
  expect(await ledger.submit('test', credit('b', 1n))).toMatchObject({ recorded: { seq: 2n } })
  expect(ledger.limitations()).toEqual([])
  await ledger.stop()
})

test('a shard in memory whose journal is corrupt is loaded anew, from the journal that was restored', async () => {
  await fixture.ledger.submit('test', credit('a', 5n))
  await using restored = await openFixture()
  await restored.ledger.submit('test', credit('other', 3n))
  let { journal } = fixture.store
  const current: Partial<Journal> = {
    getBatch: (...position) => journal.getBatch(...position),
    getHash: (...position) => journal.getHash(...position),
    listBatches: (...range) => journal.listBatches(...range),
  }
  const ledger = createLedger(withJournal(fixture.store, current), trustedClock)
  expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 5n }])
  const [, altered] = journalOf(2)
  if (altered) await journal.append(altered)
  expect(await failureOf(ledger.accounts('test', '1000'))).toBeInstanceOf(CorruptJournal)
  journal = restored.store.journal
  await manual.advance(UNUSABLE_SHARD_MS)
  expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 3n }])
  await ledger.stop()
})

test('a batch whose format number was altered is corrupt, and not taken for one of a newer release', async () => {
  const { store, ledger } = fixture
  const formats: [string, unknown][] = [
    ['1002', 1],
    ['1000', NEXT_FORMATS.written],
    ['1001', String(NEXT_FORMATS.written)],
  ]
  for (const [merchant_id, format] of formats) {
    const [batch] = journalOf(1, merchant_id)
    if (batch) await store.journal.append({ ...batch, format: format as number })
    const failure = await failureOf(ledger.submit('test', credit('c', 1n, merchant_id)))
    expect(failure).toBeInstanceOf(CorruptJournal)
  }
  expect(ledger.limitations()).toEqual(formats.map(([one]) => `shard ${shardOf(one, 'test')}: corrupt`))
})
