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

/** A journal in front of the real one. */
function withJournal(store: LedgerStore, journal: Partial<Journal>): LedgerStore {
  return { ...store, journal: { ...store.journal, ...journal } }
}

/** Numbers from 0 to 99 that a seed determines. */
function diceOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * 100)
  }
}

/**
 * A journal that is often unsure: the insert happens and is not reported, does not happen, or happens later, when the
 * log has long gone on; and reads and inserts that fail for certain.
 */
function unreliable(
  store: LedgerStore,
  seed: number,
): { store: LedgerStore; landed: () => Promise<unknown> } {
  const dice = diceOf(seed)
  const late: Promise<unknown>[] = []
  const { journal } = store
  const wrapped = withJournal(store, {
    async append(batch) {
      const thrown = dice()
      if (thrown < 10) throw new Unavailable('thrown by the test')
      if (thrown < 25) return 'unknown'
      if (thrown < 40) {
        await journal.append(batch)
        return 'unknown'
      }
      if (thrown < 50) {
        const landing = new Promise((resolve) => clock.after(dice(), () => resolve(journal.append(batch))))
        late.push(landing)
        return 'unknown'
      }
      return await journal.append(batch)
    },
    async getBatch(shard, seq) {
      if (dice() < 20) throw new Unavailable('thrown by the test')
      return await journal.getBatch(shard, seq)
    },
  })
  return { store: wrapped, landed: () => Promise.all(late) }
}

/** Repeats a command under its id until the ledger has an answer, as every caller of it does. */
async function insist(ledger: Ledger, command: Command): Promise<CommandResult> {
  for (;;) {
    try {
      return await ledger.submit('test', command)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  }
}

test('whatever becomes of inserts, nothing is lost and nothing is there twice', async () => {
  const property = fc.asyncProperty(fc.integer(), async (seed) => {
    await using fixture = await openFixture()
    const stores = [1, 2].map((number) => unreliable(fixture.store, seed + number))
    const ledgers = stores.map(({ store }) => createLedger(store))
    await fixture.ledger.submit('test', credit('a', 600n))
    const commands = Array.from({ length: 40 }, (_, at) => [
      credit(`c${at}`, 10n),
      hold(`h${at}`, 50n),
    ]).flat()
    const outcomes = await Promise.all(
      ledgers.map((ledger) => Promise.all(commands.map((one) => insist(ledger, one)))),
    )
    expect(outcomes[0]).toEqual(outcomes[1])
    await Promise.all(stores.map(({ landed }) => landed()))
    const batches = await fixture.store.journal.listBatches(SHARD, 1n, 1_000)
    const ids = batches.flatMap(({ entries }) => entries.map(({ id }) => id))
    expect(ids.toSorted()).toEqual(['a', ...commands.map(({ id }) => id)].toSorted())
    await Promise.all(ledgers.map((ledger) => ledger.stop()))
    expect(await fixture.ledger.verify()).toMatchObject({ differences: [] })
  })
  await fc.assert(property, { numRuns: 8 })
}, 120_000)

describe('with the store away', () => {
  test('everybody who waits is told so, and what was not written is not there afterwards', async () => {
    await using fixture = await openFixture()
    let away = true
    const { journal } = fixture.store
    const append: Journal['append'] = async (batch) => {
      if (away) throw new Unavailable('thrown by the test')
      return await journal.append(batch)
    }
    const ledger = createLedger(withJournal(fixture.store, { append }))
    const commands = Array.from({ length: 2_000 }, (_, at) => credit(`c${at}`, 1n))
    const told = await Promise.allSettled(commands.map((command) => ledger.submit('test', command)))
    expect(told.every((result) => result.status === 'rejected' && result.reason instanceof Unavailable)).toBe(
      true,
    )
    away = false
    expect(await ledger.accounts('test', '1000')).toEqual([])
    await ledger.submit('test', credit('c0', 1n))
    expect(await ledger.accounts('test', '1000')).toMatchObject([{ available: 1n }])
    await ledger.stop()
  })

  test('nothing is decided before the fate of a batch is known', async () => {
    await using fixture = await openFixture()
    const manual = createManualClock()
    const restoreClock = useClock(manual)
    try {
      let away = true
      const { journal } = fixture.store
      const appended: string[] = []
      const ledger = createLedger(
        withJournal(fixture.store, {
          async append(batch) {
            appended.push(batch.token)
            if (!away) return await journal.append(batch)
            // The first try arrives, although nobody can tell; afterwards the store is away altogether.
            if (appended.length === 1) await journal.append(batch)
            return 'unknown'
          },
          async getBatch(shard, seq) {
            if (away) throw new Unavailable('thrown by the test')
            return await journal.getBatch(shard, seq)
          },
        }),
      )
      await ledger.accounts('test', '1000')
      const first = await answered(manual, ledger.submit('test', credit('a', 5n)))
      expect(first).toBeInstanceOf(Unavailable)
      const second = await answered(manual, ledger.submit('test', credit('b', 7n)))
      expect(second).toBeInstanceOf(Unavailable)
      expect(new Set(appended).size).toBe(1)
      away = false
      expect(await answered(manual, ledger.accounts('test', '1000'))).toMatchObject([{ available: 5n }])
      expect(await answered(manual, ledger.submit('test', credit('a', 5n)))).toMatchObject({
        recorded: { seq: 1n },
      })
      expect(await journal.lastSequence(SHARD)).toBe(1n)
      await ledger.stop()
    } finally {
      restoreClock()
    }
  })
})

test('a process that was overtaken reads what it missed and decides again', async () => {
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

test('an id that was looked up before another process used it is found, however much was written since', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  await ledger.submit('test', credit('a', 1n))
  const looked_up = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const slow = createLedger(
    withJournal(store, {
      async findByEntryId(shard, id, limit) {
        const found = await store.journal.findByEntryId(shard, id, limit)
        looked_up.resolve()
        await gate.promise
        return found
      },
    }),
  )
  const waiting = slow.submit('test', credit('late', 5n))
  await looked_up.promise
  const first = await ledger.submit('test', credit('late', 5n))
  for (let round = 0; round < 4; round += 1) {
    const commands = Array.from({ length: RECENT_ENTRIES_MIN / 2 }, (_, at) => credit(`${round} ${at}`, 1n))
    await Promise.all(commands.map((command) => ledger.submit('test', command)))
    await slow.accounts('test', '1000')
  }
  gate.resolve()
  expect(await waiting).toEqual(first)
  await slow.stop()
  expect(await ledger.verify()).toMatchObject({ differences: [] })
})

test('a process whose clock is behind the ledger is not ready and does not turn time back', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  await ledger.submit('test', credit('a', 100n))
  const [first] = await store.journal.listBatches(SHARD, 1n, 1)
  const manual = createManualClock((first?.time.getTime() ?? 0) - 6_000)
  const restoreClock = useClock(manual)
  const late = createLedger(store)
  try {
    await expect(late.checkClock()).resolves.toBeUndefined()
    const outcome = await late.submit('test', credit('b', 1n))
    expect(outcome).toMatchObject({ recorded: { time: first?.time } })
    await expect(late.checkClock()).rejects.toThrow('6000 ms behind the ledger')
    await late.stop()
  } finally {
    restoreClock()
  }
})

/** What a promise resolves with or throws, while the clock is moved on as long as it takes. */
async function answered(
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
