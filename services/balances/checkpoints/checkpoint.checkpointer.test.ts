import { expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import type { Command } from '../domain/command.ts'
import { emptyAccounts } from '../domain/merchant-accounts.ts'
import type { RowPage } from '../domain/paged-rows.ts'
import { shardOf } from '../domain/shard.ts'
import { createShardState, type ShardState } from '../domain/shard-state.ts'
import { credit, hold, openFixture, resolve } from '../ledger.fixture.ts'
import { createLedger } from '../ledger.ts'
import {
  CHECKPOINT_INTERVAL_BATCHES,
  CHECKPOINT_INTERVAL_ENTRIES,
  CHECKPOINT_ROWS_PER_ENTRY_MAX,
} from '../limits.ts'
import type { Checkpoints } from '../store/checkpoints.ts'
import { verifyLedger } from '../verification/verification.fixture.ts'
import { createCheckpointer } from './checkpoint.ts'

const SHARD = shardOf('1000', 'test')

test('checkpoints are written under steady load', async () => {
  await using fixture = await openFixture()
  const { store, ledger } = fixture
  let is_loaded = true
  const load = Array.from({ length: 4 }, async (_, worker) => {
    for (let number = 0; is_loaded; number += 1)
      await ledger.submit('test', credit(`${worker} ${number}`, 1n))
  })
  try {
    for (const intervals of [1n, 2n, 3n]) {
      await eventually(
        async () => (await store.checkpoints.getHead(SHARD))?.seq ?? 0n,
        (saved_seq = 0n) => saved_seq >= intervals * CHECKPOINT_INTERVAL_BATCHES,
      )
    }
  } finally {
    is_loaded = false
    await Promise.all(load)
    await ledger.stop()
  }
  expect(await verifyLedger(store)).toMatchObject({ problems: [] })
}, 120_000)

/**
 * A checkpointer of a shard with this many accounts, all of which change with each batch. It counts the checkpoints and
 * their rows instead of storing them. The first `failures` of them fail.
 */
function countingCheckpointer(accounts: number, failures = 0) {
  const head = { seq: 0n, time_ms: 0, hash: '' }
  const size = { entries: 0 }
  const rows = Array.from({ length: accounts }, (_, index) => emptyAccounts(`m${index}`, 'INR'))
  const page: RowPage = {
    count: () => rows.length,
    rows: () => ({ accounts: rows }),
    version: () => 0,
    storedPart: () => undefined,
    markStored: () => undefined,
  }
  const state: ShardState = {
    ...createShardState({ shard: SHARD }),
    head: () => head,
    pages: () => [page],
    rowCount: () => rows.length,
    appendedEntries: () => size.entries,
  }
  const saved: bigint[] = []
  const written = { rows: 0 }
  let failures_left = failures
  const checkpoints: Checkpoints = {
    signDigest: () => 'signature',
    isSigned: () => true,
    getHead: async () => undefined,
    getPart: async () => undefined,
    putPart: async (part) => {
      written.rows += part.accounts.length
    },
    advanceHead: async (saved_head) => {
      failures_left -= 1
      if (failures_left >= 0) throw new Unavailable('thrown by the test')
      saved.push(saved_head.seq)
      return { ...saved_head, version: saved.length }
    },
    deletePart: async () => undefined,
    deletePartsBefore: async () => undefined,
    deleteHead: async () => undefined,
    listRepairs: async () => new Map(),
  }
  const checkpointer = createCheckpointer(state, checkpoints)
  async function append(entries: number): Promise<void> {
    head.seq += 1n
    size.entries += entries
    checkpointer.wake()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { append, checkpointer, saved, written }
}

test('a checkpoint is due after a number of entries, also when they are in few batches', async () => {
  const { append, saved } = countingCheckpointer(10)
  for (let batch = 0; batch < 64; batch += 1) await append(512)
  expect(saved).toEqual([
    BigInt(CHECKPOINT_INTERVAL_ENTRIES / 512),
    BigInt((2 * CHECKPOINT_INTERVAL_ENTRIES) / 512),
  ])
})

test('a checkpoint that could not be saved is saved a second later, also when nothing more is decided', async () => {
  using manual = installManualClock()
  const { append, checkpointer, saved } = countingCheckpointer(10, 2)
  for (let batch = 1; batch <= CHECKPOINT_INTERVAL_BATCHES; batch += 1) await append(10)
  expect(saved).toEqual([])
  await manual.advance(1_000)
  expect(saved).toEqual([])
  await manual.advance(1_000)
  expect(saved).toEqual([CHECKPOINT_INTERVAL_BATCHES])
  await checkpointer.stop()
})

test('the rows of checkpoints are bounded by the entries, also at the end', async () => {
  const { append, checkpointer, saved, written } = countingCheckpointer(5_000)
  for (let batch = 1; batch <= 3_000; batch += 1) await append(1)
  expect(saved).toEqual([1_250n, 2_500n])
  await checkpointer.stop()
  expect(saved).toEqual([1_250n, 2_500n])
  expect(written.rows).toBeLessThanOrEqual(3_000 * CHECKPOINT_ROWS_PER_ENTRY_MAX)
})

test('open holds that never end are written once, however many they are', async () => {
  await using fixture = await openFixture()
  const written = { rows: 0 }
  const { store } = fixture
  const putPart: Checkpoints['putPart'] = async (part) => {
    written.rows += part.holds.length
    await store.checkpoints.putPart(part)
  }
  const ledger = createLedger({ ...store, checkpoints: { ...store.checkpoints, putPart } }, trustedClock)
  const submit = (commands: readonly Command[]) =>
    Promise.all(commands.map((command) => ledger.submit('test', command)))
  const numbers = Array.from({ length: CHECKPOINT_INTERVAL_ENTRIES }, (_, number) => number)
  await submit([credit('funds', 1_000_000n)])
  await submit(numbers.map((number) => hold(`open ${number}`, 1n)))
  const first_rows = await eventually(
    async () => written.rows,
    (rows = 0) => rows >= numbers.length,
  )
  for (const round of [1, 2]) {
    await submit(numbers.slice(0, numbers.length / 2).map((number) => hold(`short ${round} ${number}`, 1n)))
    await submit(
      numbers.slice(0, numbers.length / 2).map((number) => resolve('capture', `short ${round} ${number}`)),
    )
  }
  await ledger.stop()
  expect(first_rows).toBe(numbers.length)
  // Two more checkpoints and the one at the stop wrote less than a third of the open holds.
  expect(written.rows - first_rows).toBeLessThan(numbers.length / 3)
  expect(await verifyLedger(store)).toMatchObject({ problems: [] })
}, 120_000)
