import { expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createSwitchedClockGuard, trustedClock } from '../../../test/support/clock-guard.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, openFixture, withJournal } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import type { Journal } from '../store/journal.ts'
import { verifyLedger } from '../verification/verification.fixture.ts'

const SHARD = shardOf('1000', 'test')

test('a batch of a clock that was one hour ahead does not stop a correct process, and times never go back', async () => {
  using manual = installManualClock()
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  manual.stepWall(3_600_000)
  await ledger.submit('test', credit('a', 100n))
  manual.stepWall(-3_600_000)
  const [first] = await store.journal.listBatches(SHARD, 1n, 1)
  const correct = createLedger(store, trustedClock)
  const second = await correct.submit('test', hold('b', 1n))
  expect(second).toMatchObject({ recorded: { time: first?.time, entry: { available: 99n } } })
  await manual.advance(3_600_001)
  const third = await correct.submit('test', credit('c', 1n))
  expect(third).toMatchObject({ recorded: { time: new Date(manual.now_ms()) } })
  expect(await verifyLedger(store)).toEqual({ entries: 3n, problems: [] })
  await correct.stop()
})

test('a process whose clock is wrong decides nothing, still reads, and recovers', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  await ledger.submit('test', credit('a', 100n))
  const guard = createSwitchedClockGuard()
  const wrong = createLedger(store, guard)
  guard.setTrusted(false)
  await expect(wrong.submit('test', credit('b', 1n))).rejects.toBeInstanceOf(Unavailable)
  expect(await wrong.decideForwarded(SHARD, [credit('c', 1n)])).toEqual(['unavailable'])
  expect(await wrong.accounts('test', '1000')).toMatchObject([{ available: 100n }])
  expect(await store.journal.lastSequence(SHARD)).toBe(1n)
  guard.setTrusted(true)
  expect(await wrong.submit('test', credit('b', 1n))).toMatchObject({ recorded: { seq: 2n } })
  await wrong.stop()
})

test('when the clock goes wrong, a command that waits is not decided, and a read that waits with it is answered', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const guard = createSwitchedClockGuard()
  const committing = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const append: Journal['append'] = async (batch) => {
    committing.resolve()
    await gate.promise
    return await store.journal.append(batch)
  }
  const ledger = createLedger(withJournal(store, { append }), guard)
  const first = ledger.submit('test', credit('a', 1n))
  await committing.promise
  const second = ledger.submit('test', credit('b', 1n))
  const accounts = ledger.accounts('test', '1000')
  guard.setTrusted(false)
  gate.resolve()
  expect(await first).toMatchObject({ recorded: { seq: 1n } })
  const [refused, read] = await Promise.allSettled([second, accounts])
  expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) })
  expect(read).toMatchObject({ status: 'fulfilled', value: [{ available: 1n }] })
  guard.setTrusted(true)
  await ledger.stop()
  expect(await store.journal.lastSequence(SHARD)).toBe(1n)
})
