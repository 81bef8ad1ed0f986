import { describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { installManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, openFixture, withJournal } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import type { Journal } from '../store/journal.ts'

const SHARD = shardOf('1000', 'test')

describe('while the store cannot be reached', () => {
  test('every waiting command fails with Unavailable, and nothing is recorded', async () => {
    await using fixture = await openFixture()
    let is_down = true
    const { journal } = fixture.store
    const append: Journal['append'] = async (batch) => {
      if (is_down) throw new Unavailable('thrown by the test')
      return await journal.append(batch)
    }
    const ledger = createLedger(withJournal(fixture.store, { append }), trustedClock)
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
    using manual = installManualClock()
    let is_down = false
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
      trustedClock,
    )
    await ledger.accounts('test', '1000')
    is_down = true
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
    expect(await settle(manual, ledger.submit('test', credit('c', 3n)))).toMatchObject({
      recorded: { seq: 2n, entry: { available: 8n } },
    })
    expect(await journal.lastSequence(SHARD)).toBe(2n)
    await ledger.stop()
  })
})

test('drops a batch whose commit was unknown when another process has its position', async () => {
  await using fixture = await openFixture()
  using manual = installManualClock()
  const { store, ledger: other } = fixture
  let is_down = false
  const journal: Partial<Journal> = {
    append: async (batch) => (is_down ? 'unknown' : await store.journal.append(batch)),
    async getBatch(shard, seq) {
      if (is_down) throw new Unavailable('thrown by the test')
      return await store.journal.getBatch(shard, seq)
    },
  }
  await other.submit('test', credit('funds', 100n))
  const ledger = createLedger(withJournal(store, journal), trustedClock)
  await ledger.accounts('test', '1000')
  is_down = true
  expect(await settle(manual, ledger.submit('test', hold('mine', 60n)))).toBeInstanceOf(Unavailable)
  await other.submit('test', hold('first', 70n))
  is_down = false
  expect(await settle(manual, ledger.accounts('test', '1000'))).toMatchObject([{ available: 30n, held: 70n }])
  expect(await settle(manual, ledger.submit('test', hold('mine', 60n)))).toMatchObject({
    recorded: { seq: 3n, entry: { refused_code: 6004 } },
  })
  expect(ledger.limitations()).toEqual([])
  await ledger.stop()
})

/** Returns the value or the error of a promise. Advances the clock until the promise is settled. */
async function settle(manual: ManualClock, promise: Promise<unknown>): Promise<unknown> {
  let done = false
  const settled = promise
    .catch((error: unknown) => error)
    .finally(() => {
      done = true
    })
  while (!done) await manual.advance(500)
  return await settled
}
