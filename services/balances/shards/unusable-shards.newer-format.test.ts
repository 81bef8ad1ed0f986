import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { BATCH_FORMATS, NewerBatchFormat } from '../domain/hash-chain.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, type LedgerFixture, ledger_signer, NEXT_FORMATS, openFixture } from '../ledger.fixture.ts'
import { createLedger, type Ledger } from '../ledger.ts'
import { UNUSABLE_SHARD_MS } from '../limits.ts'
import { type LedgerStore, openLedgerStore } from '../store/ledger-store.ts'

const SHARD = shardOf('1000', 'test')
/** A merchant of another shard. */
const OTHER = '1001'

/** The release before a new format, and the one that writes it. */
let older: Ledger
let newer: Ledger
let fixture: LedgerFixture
/** How often the older process has asked the store about the shard. */
let reads = 0
let manual: InstalledClock

beforeEach(async () => {
  fixture = await openFixture()
  manual = installManualClock()
  older = createLedger(countingReads(fixture.store), trustedClock)
  newer = createLedger(await openLedgerStore(fixture.opened, ledger_signer, NEXT_FORMATS), trustedClock)
})
afterEach(async () => {
  manual[Symbol.dispose]()
  await older.stop()
  await newer.stop()
  await fixture[Symbol.asyncDispose]()
})

function countingReads(store: LedgerStore): LedgerStore {
  const getHead: LedgerStore['checkpoints']['getHead'] = async (shard) => {
    if (shard === SHARD) reads += 1
    return await store.checkpoints.getHead(shard)
  }
  const getBatch: LedgerStore['journal']['getBatch'] = async (shard, seq) => {
    if (shard === SHARD) reads += 1
    return await store.journal.getBatch(shard, seq)
  }
  return {
    ...store,
    checkpoints: { ...store.checkpoints, getHead },
    journal: { ...store.journal, getBatch },
  }
}

const failureOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error)

// R9
describe('a batch of a newer format', () => {
  test('is met by the load of a shard: only that shard is left to others', async () => {
    expect(shardOf(OTHER, 'test')).not.toBe(SHARD)
    await newer.submit('test', credit('a', 5n))
    const failure = await failureOf(older.submit('test', credit('b', 1n)))
    expect(failure).toBeInstanceOf(NewerBatchFormat)
    expect(failure).toBeInstanceOf(Unavailable)
    expect(await failureOf(older.accounts('test', '1000'))).toBeInstanceOf(NewerBatchFormat)
    expect(await older.decideForwarded(SHARD, [credit('c', 1n)])).toEqual(['unavailable'])
    expect(older.limitations()).toEqual([`shard ${SHARD}: newer format`])
    expect(await older.submit('test', credit('d', 1n, OTHER))).toMatchObject({ recorded: { seq: 1n } })
    expect(await newer.submit('test', credit('b', 1n))).toMatchObject({ recorded: { seq: 2n } })
    expect(newer.limitations()).toEqual([])
  })

  test('is met by a process that has the shard in memory, whether it decides or reads', async () => {
    await older.submit('test', credit('a', 5n))
    await newer.submit('test', credit('b', 5n))
    // The clock does not move, so nothing can wait for the resolution of a commit: the position is known to be taken.
    const commands = Array.from({ length: 10 }, (_, number) => older.submit('test', credit(`${number}`, 1n)))
    for (const command of commands) expect(await failureOf(command)).toBeInstanceOf(NewerBatchFormat)
    expect(await fixture.store.journal.lastSequence(SHARD)).toBe(2n)
    expect(older.limitations()).toEqual([`shard ${SHARD}: newer format`])
  })

  test('is not asked for again until the time is over', async () => {
    await newer.submit('test', credit('a', 5n))
    await failureOf(older.submit('test', credit('b', 1n)))
    const before = reads
    for (let number = 0; number < 10; number += 1) {
      await failureOf(older.submit('test', credit('b', 1n)))
      await failureOf(older.accounts('test', '1000'))
    }
    expect(reads).toBe(before)
    await manual.advance(UNUSABLE_SHARD_MS)
    await failureOf(older.submit('test', credit('b', 1n)))
    expect(reads).toBeGreaterThan(before)
    expect(older.limitations()).toEqual([`shard ${SHARD}: newer format`])
  })

  test('does not appear before a release that writes it: a release reads it first', async () => {
    const next_release = { ...NEXT_FORMATS, written: BATCH_FORMATS.written }
    const reader = createLedger(
      await openLedgerStore(fixture.opened, ledger_signer, next_release),
      trustedClock,
    )
    await newer.submit('test', credit('a', 5n))
    expect(await reader.submit('test', credit('b', 1n))).toMatchObject({ recorded: { seq: 2n } })
    expect(await newer.submit('test', credit('c', 1n))).toMatchObject({ recorded: { seq: 3n } })
    expect(await newer.accounts('test', '1000')).toMatchObject([{ available: 7n }])
    await reader.stop()
  })

  test('a shard that can be read again is taken back', async () => {
    let { journal } = fixture.store
    const { journal: readable } = await openLedgerStore(fixture.opened, ledger_signer, {
      ...NEXT_FORMATS,
      written: BATCH_FORMATS.written,
    })
    const switched: LedgerStore['journal'] = {
      ...journal,
      getBatch: (...parameters) => journal.getBatch(...parameters),
      listBatches: (...parameters) => journal.listBatches(...parameters),
    }
    const updated = createLedger({ ...fixture.store, journal: switched }, trustedClock)
    await newer.submit('test', credit('a', 5n))
    await failureOf(updated.submit('test', credit('b', 1n)))
    expect(updated.limitations()).toHaveLength(1)
    journal = readable
    await manual.advance(UNUSABLE_SHARD_MS)
    expect(await updated.accounts('test', '1000')).toMatchObject([{ available: 5n }])
    expect(updated.limitations()).toEqual([])
    await updated.stop()
  })
})
