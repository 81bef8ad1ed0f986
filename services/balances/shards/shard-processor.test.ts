import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { clock, useClock } from '#lib/platform/time.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import type { Command } from '../domain/command.ts'
import type { CommandResult } from '../domain/decide-command.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, openFixture } from '../ledger.fixture.ts'
import { createLedger, type Ledger } from '../ledger.ts'
import { RECENT_ENTRIES_MIN } from '../limits.ts'
import type { Journal } from '../store/journal.ts'
import type { LedgerStore } from '../store/ledger-store.ts'

const SHARD = shardOf('1000', 'test')

/** The store with some methods of its journal replaced. */
function withJournal(store: LedgerStore, journal: Partial<Journal>): LedgerStore {
  return { ...store, journal: { ...store.journal, ...journal } }
}

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
    const ledgers = stores.map(({ store }) => createLedger(store))
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
    expect(await fixture.ledger.verify()).toMatchObject({ differences: [] })
  })
  await fc.assert(property, { numRuns: 8 })
}, 600_000)

describe('while the store cannot be reached', () => {
  test('every waiting command fails with Unavailable, and nothing is recorded', async () => {
    await using fixture = await openFixture()
    let is_down = true
    const { journal } = fixture.store
    const append: Journal['append'] = async (batch) => {
      if (is_down) throw new Unavailable('thrown by the test')
      return await journal.append(batch)
    }
    const ledger = createLedger(withJournal(fixture.store, { append }))
    const commands = Array.from({ length: 2_000 }, (_, index) => credit(`c${index}`, 1n))
    const results = await Promise.allSettled(commands.map((command) => ledger.submit('test', command)))
    expect(
      results.every((result) => result.status === 'rejected' && result.reason instanceof Unavailable),
    ).toBe(true)
    is_down = false
    expect(await ledger.accounts('test', '1000')).toEqual([])
    await ledger.submit('test', credit('c0', 1n))
    expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 1n }])
    await ledger.stop()
  })

  test('decides nothing until it knows whether the last batch was committed', async () => {
    await using fixture = await openFixture()
    const manual = createManualClock()
    const restoreClock = useClock(manual)
    try {
      let is_down = true
      const { journal } = fixture.store
      const appended: string[] = []
      const ledger = createLedger(
        withJournal(fixture.store, {
          async append(batch) {
            appended.push(batch.token)
            if (!is_down) return await journal.append(batch)
            // The first insert happens but reports an unknown result. Later calls do not reach the store.
            if (appended.length === 1) await journal.append(batch)
            return 'unknown'
          },
          async getBatch(shard, seq) {
            if (is_down) throw new Unavailable('thrown by the test')
            return await journal.getBatch(shard, seq)
          },
        }),
      )
      await ledger.accounts('test', '1000')
      const first = await settle(manual, ledger.submit('test', credit('a', 5n)))
      expect(first).toBeInstanceOf(Unavailable)
      const second = await settle(manual, ledger.submit('test', credit('b', 7n)))
      expect(second).toBeInstanceOf(Unavailable)
      expect(new Set(appended).size).toBe(1)
      is_down = false
      expect(await settle(manual, ledger.accounts('test', '1000'))).toMatchObject([{ available: 5n }])
      expect(await settle(manual, ledger.submit('test', credit('a', 5n)))).toMatchObject({
        recorded: { seq: 1n },
      })
      expect(await journal.lastSequence(SHARD)).toBe(1n)
      await ledger.stop()
    } finally {
      restoreClock()
    }
  })
})

test('reads the batches of another process that committed first, and decides again', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  const other = createLedger(store)
  await ledger.submit('test', credit('a', 100n))
  await other.submit('test', hold('h', 60n))
  expect(await ledger.submit('test', hold('i', 60n))).toMatchObject({
    recorded: { seq: 3n, entry: { refused_code: 6004 } },
  })
  expect(await other.submit('test', hold('i', 60n))).toMatchObject({
    recorded: { seq: 3n, entry: { refused_code: 6004 } },
  })
  expect(await other.accounts('test', '1000')).toMatchObject([{ available: 40n, held: 60n }])
  await other.stop()
})

test('finds an id that another process used after the look-up, however many batches follow', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  await ledger.submit('test', credit('a', 1n))
  const looked_up = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const slow_ledger = createLedger(
    withJournal(store, {
      async findByEntryId(shard, id, limit) {
        const found = await store.journal.findByEntryId(shard, id, limit)
        looked_up.resolve()
        await gate.promise
        return found
      },
    }),
  )
  const waiting = slow_ledger.submit('test', credit('late', 5n))
  await looked_up.promise
  const first = await ledger.submit('test', credit('late', 5n))
  for (let round = 0; round < 4; round += 1) {
    const commands = Array.from({ length: RECENT_ENTRIES_MIN / 2 }, (_, index) =>
      credit(`${round} ${index}`, 1n),
    )
    await Promise.all(commands.map((command) => ledger.submit('test', command)))
    await slow_ledger.accounts('test', '1000')
  }
  gate.resolve()
  expect(await waiting).toEqual(first)
  await slow_ledger.stop()
  expect(await ledger.verify()).toMatchObject({ differences: [] })
})

test('a process whose clock is behind is not ready, and its batches have no earlier time', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  await ledger.submit('test', credit('a', 100n))
  const [first] = await store.journal.listBatches(SHARD, 1n, 1)
  const manual = createManualClock((first?.time.getTime() ?? 0) - 6_000)
  const restoreClock = useClock(manual)
  const late = createLedger(store)
  try {
    await expect(late.checkClock()).resolves.toBeUndefined()
    const result = await late.submit('test', credit('b', 1n))
    expect(result).toMatchObject({ recorded: { time: first?.time } })
    await expect(late.checkClock()).rejects.toThrow('6000 ms behind the ledger')
    await late.stop()
  } finally {
    restoreClock()
  }
})

/** Returns the value or the error of a promise. Advances the clock until the promise is settled. */
async function settle(
  manual: ReturnType<typeof createManualClock>,
  promise: Promise<unknown>,
): Promise<unknown> {
  let done = false
  const settled = promise
    .catch((error: unknown) => error)
    .finally(() => {
      done = true
    })
  while (!done) await manual.advance(500)
  return await settled
}
