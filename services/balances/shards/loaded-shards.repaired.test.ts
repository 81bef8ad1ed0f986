import { expect, test } from '@jest/globals'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { shardOf } from '../domain/shard.ts'
import { credit, hold, type LedgerFixture, openFixture } from '../ledger.fixture.ts'
import { createLedger, type Ledger } from '../ledger.ts'
import { storeWrongCheckpoint, verifyLedger } from '../verification/verification.fixture.ts'

const SHARD = shardOf('1000', 'test')
const REPORTED = [expect.stringMatching('differs from the journal')]
const availableOf = async (ledger: Ledger): Promise<bigint[]> =>
  (await ledger.accounts('test', '1000')).map(({ available }) => available)

/** A ledger that has loaded a wrong checkpoint: 91 instead of 90. */
async function openWrongLedger({ ledger, store }: LedgerFixture): Promise<Ledger> {
  await ledger.submit('test', credit('a', 100n))
  await ledger.submit('test', hold('h', 10n))
  await ledger.stop()
  await storeWrongCheckpoint(store, SHARD)
  const wrong = createLedger(store, trustedClock)
  expect(await availableOf(wrong)).toEqual([91n])
  return wrong
}

// B1, B4
test('a process that loaded a wrong checkpoint loads the shard again soon after the repair', async () => {
  using clock = installManualClock()
  await using fixture = await openFixture()
  const { store } = fixture
  const ledger = await openWrongLedger(fixture)
  expect(await verifyLedger(store)).toMatchObject({ problems: REPORTED })
  expect(await availableOf(ledger)).toEqual([91n])
  await clock.advance(5_000)
  await eventually(
    async () => (await availableOf(ledger))[0],
    (available) => available !== 91n,
  )
  expect(await availableOf(ledger)).toEqual([90n])
  await ledger.submit('test', credit('b', 1n))
  await ledger.stop()
  expect(await store.checkpoints.getHead(SHARD)).toMatchObject({ seq: 3n })
  expect(await verifyLedger(store)).toEqual({ entries: 3n, problems: [] })
})

test('a process that has not noticed the repair yet does not undo it', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const wrong = await openWrongLedger(fixture)
  expect(await verifyLedger(store)).toMatchObject({ problems: REPORTED })
  await wrong.submit('test', credit('b', 5n, '1000', 'USD'))
  await wrong.stop()
  const next = createLedger(store, trustedClock)
  expect(await availableOf(next)).toEqual([90n, 5n])
  await next.stop()
  expect(await verifyLedger(store)).toEqual({ entries: 3n, problems: [] })
})

test('a process that reads the repaired checkpoint keeps the shard loaded', async () => {
  using clock = installManualClock()
  await using fixture = await openFixture()
  const { store } = fixture
  const wrong = await openWrongLedger(fixture)
  expect(await verifyLedger(store)).toMatchObject({ problems: REPORTED })
  await wrong.stop()
  let loads = 0
  const getHead: typeof store.checkpoints.getHead = (shard) => {
    loads += 1
    return store.checkpoints.getHead(shard)
  }
  const repairs = { reads: 0 }
  const listRepairs: typeof store.checkpoints.listRepairs = async () => {
    const listed = await store.checkpoints.listRepairs()
    repairs.reads += 1
    return listed
  }
  const ledger = createLedger(
    { ...store, checkpoints: { ...store.checkpoints, getHead, listRepairs } },
    trustedClock,
  )
  await availableOf(ledger)
  await clock.advance(5_000)
  await eventually(
    async () => repairs.reads,
    (reads) => reads === 1,
  )
  expect(await availableOf(ledger)).toEqual([90n])
  expect(loads).toBe(1)
  await ledger.stop()
})
