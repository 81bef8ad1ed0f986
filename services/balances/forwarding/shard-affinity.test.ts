import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { useClock } from '#lib/platform/time.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { openFixture } from '../ledger.fixture.ts'
import { createShardAffinity } from './shard-affinity.ts'

let clock: ManualClock
let restoreClock: () => void

beforeEach(() => {
  clock = createManualClock()
  restoreClock = useClock(clock)
})
afterEach(() => restoreClock())

test('the first process to use a shard holds its lease for as long as it uses the shard', async () => {
  await using fixture = await openFixture()
  const { leases } = fixture.store
  const one = createShardAffinity(leases, 'one:1')
  const two = createShardAffinity(leases, 'two:2')
  expect(await one.acquireOrFind(5)).toBeUndefined()
  expect(await two.acquireOrFind(5)).toBe('one:1')
  for (let second = 0; second < 20; second += 1) {
    await clock.advance(1_000)
    expect(await one.acquireOrFind(5)).toBeUndefined()
    // The lease is renewed in the background.
    const until_ms = clock.now_ms() + 6_000
    await eventually(
      () => leases.get(5),
      (lease) => lease?.expires_at.getTime() === until_ms,
    )
    expect(await two.acquireOrFind(5)).toBe('one:1')
  }
  await clock.advance(7_000)
  expect(await two.acquireOrFind(5)).toBeUndefined()
  expect(await one.acquireOrFind(5)).toBe('two:2')
})

test('gives the lease to one of several processes that use a shard at the same time', async () => {
  await using fixture = await openFixture()
  const { leases } = fixture.store
  const processes = [1, 2, 3].map((number) => createShardAffinity(leases, `process:${number}`))
  await Promise.all(processes.map((one) => one.acquireOrFind(5)))
  const addresses = await Promise.all(processes.map((one) => one.acquireOrFind(5)))
  expect(addresses.filter((address) => address === undefined)).toHaveLength(1)
  expect(new Set(addresses).size).toBe(2)
})

test('does not forward for a while to a process that did not answer', async () => {
  await using fixture = await openFixture()
  const { leases } = fixture.store
  const one = createShardAffinity(leases, 'one:1')
  const two = createShardAffinity(leases, 'two:2')
  await one.acquireOrFind(5)
  expect(await two.acquireOrFind(5)).toBe('one:1')
  two.markUnreachable(5, new Error('no response'))
  expect(await two.acquireOrFind(5)).toBeUndefined()
  await clock.advance(1_000)
  expect(await two.acquireOrFind(5)).toBe('one:1')
})

test('gives the leases back when the process stops', async () => {
  await using fixture = await openFixture()
  const { leases } = fixture.store
  const one = createShardAffinity(leases, 'one:1')
  const two = createShardAffinity(leases, 'two:2')
  await one.acquireOrFind(5)
  await one.stop()
  expect(await leases.get(5)).toBeUndefined()
  expect(await two.acquireOrFind(5)).toBeUndefined()
})
