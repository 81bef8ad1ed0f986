import { beforeEach, expect, test } from '@jest/globals'
import { createSwitchedClockGuard } from '../../test/support/clock-guard.ts'
import { eventually } from '../../test/support/eventually.ts'
import { IS_WHOLE } from '../../test/support/property-runs.ts'
import { type BalancesProcess, startProcess } from './balances-process.fixture.ts'
import { SHARDS, shardOf } from './domain/shard.ts'
import { rankShardOwners } from './forwarding/shard-placement.ts'
import { credit, openFixture } from './ledger.fixture.ts'
import type { LedgerStore } from './store/ledger-store.ts'
import { verifyLedger } from './verification/verification.fixture.ts'

/** How many shards are busy: in CI all of the test environment. */
const BUSY = IS_WHOLE ? SHARDS / 2 : SHARDS / 8

/** One merchant for each busy shard. */
const MERCHANTS: ReadonlyMap<number, string> = (() => {
  const merchants = new Map<number, string>()
  for (let number = 0; merchants.size < BUSY; number += 1)
    merchants.set(shardOf(`m${number}`, 'test'), `m${number}`)
  return merchants
})()

/** The number of calls of `submitToAll` in this test. */
let submitted = 0

beforeEach(() => {
  submitted = 0
})

/** Submits a new command for every busy shard to a process. */
async function submitToAll({ ledger }: BalancesProcess): Promise<void> {
  submitted += 1
  const commands = [...MERCHANTS.values()].map((merchant) => credit(`${submitted}`, 1n, merchant))
  await Promise.all(commands.map((command) => ledger.submit('test', command)))
}

/** Submits to every process until each shard is decided by the process that should own it, and by no other. */
async function expectShared(
  processes: readonly BalancesProcess[],
  members: readonly BalancesProcess[] = processes,
): Promise<void> {
  const addresses = members.map(({ address }) => address)
  const isOwner = (shard: number, { address }: BalancesProcess): boolean =>
    rankShardOwners(shard, addresses)[0] === address
  const expected = processes.map((one) => [...MERCHANTS.keys()].filter((shard) => isOwner(shard, one)).sort())
  await eventually(
    async () => {
      for (const one of processes) one.takeDecided()
      for (const one of processes) await submitToAll(one)
      return processes.map((one) => [...one.takeDecided()].sort())
    },
    (decided) => JSON.stringify(decided) === JSON.stringify(expected),
  )
}

test('busy shards move to a process that joins, to a third one, and back when they leave', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await using one = await startProcess(store)
  await expectShared([one])
  await using two = await startProcess(store)
  await expectShared([one, two])
  await using three = await startProcess(store)
  await expectShared([one, two, three])
  await two.ledger.leave()
  await expectShared([one, two, three], [one, three])
  await three.stop()
  await expectShared([one, two], [one])
  expect(await verifyLedger(store)).toMatchObject({
    problems: [],
    entries: BigInt(submitted * MERCHANTS.size),
  })
}, 120_000)

test('the shards of a process whose clock is wrong go elsewhere until the clock is right', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const clock_guard = createSwitchedClockGuard()
  await using one = await startProcess(store)
  await using two = await startProcess(store, clock_guard)
  await expectShared([one, two])
  clock_guard.setTrusted(false)
  await expectShared([one])
  clock_guard.setTrusted(true)
  await expectShared([one, two])
}, 120_000)

// The unique position in the journal is the fence. The placement serves speed only.
test('two processes that both think they own every shard decide no command twice and lose none', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const alone = (members: LedgerStore['members']): LedgerStore['members'] => {
    const own = new Set<string>()
    return {
      ...members,
      async beat(address, given_away) {
        own.add(address)
        return await members.beat(address, given_away)
      },
      list: async () => new Map([...(await members.list())].filter(([address]) => own.has(address))),
    }
  }
  await using one = await startProcess({ ...store, members: alone(store.members) })
  await using two = await startProcess({ ...store, members: alone(store.members) })
  const [merchant = ''] = MERCHANTS.values()
  const commands = Array.from({ length: 300 }, (_, number) => credit(`split ${number}`, 1n, merchant))
  const results = await Promise.all(
    [one, two].map(({ ledger }) => Promise.all(commands.map((command) => ledger.submit('test', command)))),
  )
  expect(results[0]).toEqual(results[1])
  expect(one.takeDecided().size + two.takeDecided().size).toBeGreaterThan(0)
  expect(await two.ledger.accounts('test', merchant)).toMatchObject([{ available: 300n }])
  expect(await verifyLedger(store)).toMatchObject({ problems: [], entries: 300n })
})
