import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import type { Command } from '../domain/command.ts'
import type { CommandResult } from '../domain/decide-command.ts'
import { sealBatch } from '../domain/hash-chain.ts'
import { shardOf } from '../domain/shard.ts'
import { createShardState } from '../domain/shard-state.ts'
import { credit, hold, openFixture, resolve, soundCheckpoint, withJournal } from '../ledger.fixture.ts'
import { createLedger, type Ledger } from '../ledger.ts'
import { COMMAND_WAIT_MAX_MS, RECENT_ENTRIES_MIN } from '../limits.ts'
import type { Journal } from '../store/journal.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { verifyLedger } from '../verification/verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

/** A generator of numbers from 0 to 99 that the seed determines. */
function createDice(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * 100)
  }
}

/**
 * A journal whose inserts often have an unknown result: the insert happens, does not happen, or happens later, when
 * other batches have been decided. Other inserts and reads fail for certain. `lateInserts` waits for the late ones.
 */
function withUnreliableJournal(
  store: LedgerStore,
  seed: number,
): { store: LedgerStore; lateInserts: () => Promise<unknown> } {
  const roll = createDice(seed)
  const late: Promise<unknown>[] = []
  const { journal } = store
  const wrapped = withJournal(store, {
    async append(batch) {
      const number = roll()
      if (number < 10) throw new Unavailable('thrown by the test')
      if (number < 25) return 'unknown'
      if (number < 40) {
        await journal.append(batch)
        return 'unknown'
      }
      if (number < 50) {
        const insert = new Promise((resolve) => clock.after(roll(), () => resolve(journal.append(batch))))
        late.push(insert)
        return 'unknown'
      }
      return await journal.append(batch)
    },
    async getBatch(shard, seq) {
      if (roll() < 20) throw new Unavailable('thrown by the test')
      return await journal.getBatch(shard, seq)
    },
  })
  return { store: wrapped, lateInserts: () => Promise.all(late) }
}

/** Repeats a command until the ledger returns a result, as every caller does. */
async function submitUntilDecided(ledger: Ledger, command: Command): Promise<CommandResult> {
  for (;;) {
    try {
      return await ledger.submit('test', command)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  }
}

test('loses no command and decides none twice, whatever happens to the inserts', async () => {
  const property = fc.asyncProperty(fc.integer(), async (seed) => {
    await using fixture = await openFixture()
    const stores = [1, 2].map((number) => withUnreliableJournal(fixture.store, seed + number))
    const ledgers = stores.map(({ store }) => createLedger(store, trustedClock))
    await fixture.ledger.submit('test', credit('a', 600n))
    const commands = Array.from({ length: 40 }, (_, index) => [
      credit(`c${index}`, 10n),
      hold(`h${index}`, 50n),
    ]).flat()
    const ledger_results = await Promise.all(
      ledgers.map((ledger) => Promise.all(commands.map((one) => submitUntilDecided(ledger, one)))),
    )
    expect(ledger_results[0]).toEqual(ledger_results[1])
    await Promise.all(stores.map(({ lateInserts }) => lateInserts()))
    const batches = await fixture.store.journal.listBatches(SHARD, 1n, 1_000)
    const ids = batches.flatMap(({ entries }) => entries.map(({ id }) => id))
    expect(ids.toSorted()).toEqual(['a', ...commands.map(({ id }) => id)].toSorted())
    await Promise.all(ledgers.map((ledger) => ledger.stop()))
    expect(await verifyLedger(fixture.store)).toMatchObject({ problems: [] })
  })
  await fc.assert(property, { numRuns: 8 })
}, 600_000)

test('the state does not grow with refused holds that are released, also when they are no longer in memory', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await fixture.ledger.submit('test', credit('a', 5n))
  const holds = Array.from({ length: 20 }, (_, index) => hold(`h${index}`, 10n))
  await Promise.all(holds.map((one) => fixture.ledger.submit('test', one)))
  await fixture.ledger.submit('test', credit('b', 100n))
  await fixture.ledger.stop()
  const ledger = createLedger(store, trustedClock)
  const releases = holds.map(({ id }) => resolve('release', id))
  const results = await Promise.all(releases.map((one) => ledger.submit('test', one)))
  expect(results.map((result) => 'recorded' in result && result.recorded.entry.refused_code)).toEqual(
    holds.map(() => 6004),
  )
  expect(await Promise.all(releases.map((one) => ledger.submit('test', one)))).toEqual(results)
  await ledger.stop()
  const { snapshot } = await soundCheckpoint(store, SHARD)
  expect(createShardState(snapshot).snapshot()).toMatchObject({ early_releases: [], holds: [] })
  expect(await verifyLedger(store)).toMatchObject({ problems: [] })
})

test('a hold that another process has just recorded is the same command', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  const other = createLedger(store, trustedClock)
  await ledger.submit('test', credit('a', 100n))
  const first = await other.submit('test', hold('h', 30n))
  expect(await ledger.submit('test', hold('h', 30n))).toEqual(first)
  expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 70n, held: 30n }])
  await other.stop()
})

test('reads the batches of another process that committed first, and decides again', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  const other = createLedger(store, trustedClock)
  await ledger.submit('test', credit('a', 100n))
  await other.submit('test', hold('h', 60n))
  expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 40n, held: 60n }])
  await other.submit('test', credit('b', 1n))
  expect(await ledger.submit('test', hold('i', 60n))).toMatchObject({
    recorded: { seq: 4n, entry: { refused_code: 6004 } },
  })
  expect(await other.submit('test', hold('i', 60n))).toMatchObject({
    recorded: { seq: 4n, entry: { refused_code: 6004 } },
  })
  expect(await other.accounts('test', '1000')).toMatchObject([{ available: 41n, held: 60n }])
  await other.stop()
})

test('a command fails when other processes have always committed first for too long', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  const other = createLedger(store, trustedClock)
  await other.submit('test', credit('first', 1n))
  using manual = installManualClock()
  let overtaken = 0
  const slow = createLedger(
    withJournal(store, {
      async append(batch) {
        overtaken += 1
        await other.submit('test', credit(`other ${overtaken}`, 1n))
        await manual.advance(COMMAND_WAIT_MAX_MS / 4)
        return await store.journal.append(batch)
      },
    }),
    trustedClock,
  )
  await expect(slow.submit('test', credit('a', 1n))).rejects.toThrow('always committed first')
  expect(overtaken).toBe(5)
  expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 6n }])
  await other.stop()
})

describe('one outcome per id', () => {
  test('the journal refuses a batch with an id that an earlier batch has', async () => {
    await using fixture = await openFixture()
    const { journal } = fixture.store
    const entry = { ...credit('a', 1n), available: 1n, held: 0n }
    const at = { shard: SHARD, time: new Date(0) }
    expect(await journal.append(sealBatch({ ...at, seq: 1n }, '', [entry], 'first'))).toBe('appended')
    const repeated = sealBatch({ ...at, seq: 2n }, '', [{ ...entry, id: 'b' }, entry], 'second')
    expect(await journal.append(repeated)).toBe('repeated_id')
    expect(await journal.append({ ...repeated, shard: SHARD + 1 })).toBe('appended')
  })

  test('new ids are decided without a lookup', async () => {
    await using fixture = await openFixture()
    let lookups = 0
    const { journal } = fixture.store
    const findByEntryId: Journal['findByEntryId'] = async (shard, id, limit) => {
      lookups += 1
      return await journal.findByEntryId(shard, id, limit)
    }
    const ledger = createLedger(withJournal(fixture.store, { findByEntryId }), trustedClock)
    const commands = Array.from({ length: 1_000 }, (_, at) => credit(`c${at}`, 1n))
    await Promise.all(commands.map((command) => ledger.submit('test', command)))
    await Promise.all(commands.map((command) => ledger.submit('test', command)))
    expect(lookups).toBe(0)
    await ledger.stop()
  })

  test('ids that are not in memory any more keep their outcome, and do not disturb their batch', async () => {
    await using fixture = await openFixture()
    const { ledger } = fixture
    const most = 2n ** 63n - 1n
    const old: Command[] = [
      credit('a', 100n),
      hold('open', 10n),
      hold('captured', 20n),
      resolve('capture', 'captured'),
      hold('released', 30n),
      resolve('release', 'released'),
      hold('much', 1_000n),
      resolve('release', 'early'),
      hold('early', 1n),
      credit('full', most, '1000', 'MXN'),
    ]
    const outcomes: CommandResult[] = []
    for (const command of old) outcomes.push(await ledger.submit('test', command))
    for (let round = 0; round < 4; round += 1) {
      const others = Array.from({ length: RECENT_ENTRIES_MIN / 2 }, (_, at) => credit(`${round} ${at}`, 1n))
      await Promise.all(others.map((command) => ledger.submit('test', command)))
    }
    const before = await ledger.accounts('test', '1000')
    // One by one, and in one batch together with a new command.
    for (const [at, command] of old.entries())
      expect(await ledger.submit('test', command)).toEqual(outcomes[at])
    const other = createLedger(fixture.store, trustedClock)
    const batch = [...old, { ...credit('a', 101n) }, resolve('capture', 'absent'), hold('new', 1n)]
    const results = await Promise.all(batch.map((command) => other.submit('test', command)))
    expect(results.slice(0, old.length)).toEqual(outcomes)
    expect(results.slice(old.length)).toMatchObject([
      { not_recorded: 'id_conflict' },
      { not_recorded: 'hold_not_open' },
      { recorded: { entry: { id: 'new' } } },
    ])
    await other.stop()
    const [{ available: left = 0n } = {}] = before
    expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: left - 1n, held: 11n }, {}])
    expect(await verifyLedger(fixture.store)).toMatchObject({ problems: [] })
  })

  test('a repeated hold that is open waits for its entry, which an outdated read does not show', async () => {
    await using fixture = await openFixture()
    const { store, ledger } = fixture
    await ledger.submit('test', credit('funds', 10n))
    const first = await ledger.submit('test', hold('open', 1n))
    // The next process loads the shard from a checkpoint, so it does not have the entry in memory.
    await ledger.stop()
    let is_outdated = true
    const findByEntryId: Journal['findByEntryId'] = async (shard, id, limit) =>
      is_outdated ? [] : await store.journal.findByEntryId(shard, id, limit)
    const next = createLedger(withJournal(store, { findByEntryId }), trustedClock)
    await expect(next.submit('test', hold('open', 1n))).rejects.toThrow(Unavailable)
    expect(next.limitations()).toEqual([])
    is_outdated = false
    expect(await next.submit('test', hold('open', 1n))).toEqual(first)
    await next.stop()
  })

  test.each<[string, Command, Command]>([
    ['captured', hold('h', 4n), resolve('capture', 'h')],
    ['released before it arrived', resolve('release', 'h'), hold('h', 4n)],
  ])('a release of a hold that was %s, which an outdated read does not show', async (_, ...earlier) => {
    await using fixture = await openFixture()
    const { store, ledger } = fixture
    for (const command of [credit('funds', 10n), ...earlier]) await ledger.submit('test', command)
    const expected = await ledger.submit('test', resolve('release', 'h'))
    // The next process loads the shard from a checkpoint, so it has neither entry in memory.
    await ledger.stop()
    let reads = 0
    const findByEntryId: Journal['findByEntryId'] = async (shard, id, limit) => {
      if (id === 'h:resolve') reads += 1
      return id === 'h:resolve' && reads === 1 ? [] : await store.journal.findByEntryId(shard, id, limit)
    }
    const next = createLedger(withJournal(store, { findByEntryId }), trustedClock)
    expect(await next.submit('test', resolve('release', 'h'))).toEqual(expected)
    expect(next.limitations()).toEqual([])
    await next.stop()
    expect(await verifyLedger(store)).toEqual({ entries: 3n, problems: [] })
  })

  test('a batch that was written but not acknowledged is not taken for a repetition', async () => {
    await using fixture = await openFixture()
    const { journal } = fixture.store
    const answers = ['repeated_id', 'unknown'] as const
    let lookups = 0
    for (const [at, answer] of answers.entries()) {
      const append: Journal['append'] = async (batch) => {
        await journal.append(batch)
        return answer
      }
      const findByEntryId: Journal['findByEntryId'] = async (shard, id, limit) => {
        lookups += 1
        return await journal.findByEntryId(shard, id, limit)
      }
      const ledger = createLedger(withJournal(fixture.store, { append, findByEntryId }), trustedClock)
      const result = await ledger.submit('test', credit(answer, 1n))
      expect(result).toMatchObject({ recorded: { seq: BigInt(at + 1) } })
      await ledger.stop()
    }
    expect(lookups).toBe(0)
    expect(await verifyLedger(fixture.store)).toEqual({ entries: 2n, problems: [] })
  })

  test('a repetition is recognized also when its commit is unclear at first', async () => {
    await using fixture = await openFixture()
    const { store, ledger } = fixture
    const first = await ledger.submit('test', credit('a', 1n))
    await ledger.stop()
    let answers = 0
    const append: Journal['append'] = async (batch) => {
      answers += 1
      return answers === 1 ? 'unknown' : await store.journal.append(batch)
    }
    const later = createLedger(withJournal(store, { append }), trustedClock)
    expect(await later.submit('test', credit('a', 1n))).toEqual(first)
    await later.stop()
    expect(await store.journal.lastSequence(SHARD)).toBe(1n)
  })
})
