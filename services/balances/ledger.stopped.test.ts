import { expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { eventually } from '../../test/support/eventually.ts'
import { readCheckpoint, saveCheckpoint } from './checkpoints/checkpoint.ts'
import type { Batch, Entry } from './domain/entry.ts'
import { CorruptJournal } from './domain/hash-chain.ts'
import { shardOf } from './domain/shard.ts'
import { applyNext, createShardState } from './domain/shard-state.ts'
import { ShardStopped } from './domain/shard-stop.ts'
import { credit, openFixture } from './ledger.fixture.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { JOURNAL } from './store/journal.ts'
import type { LedgerStore } from './store/ledger-store.ts'
import { resumeShard } from './use-cases/resume-shard.ts'
import { getVerification, startVerification } from './use-cases/verification.ts'
import { verifyLedger, withReads } from './verification/verification.fixture.ts'
import { createVerifier } from './verification/verifier.ts'

const SHARD = shardOf('1000', 'test')
const DESCRIPTION = `shard ${SHARD}: batch 2 does not match its hash; its content was altered`

/** A ledger with four batches of merchant 1000, whose checkpoint is at the last one, and one of another shard. */
async function openUsed() {
  const fixture = await openFixture()
  const { store, opened, ledger } = fixture
  for (const id of ['a', 'b', 'c', 'd']) await ledger.submit('test', credit(id, 100n))
  await ledger.submit('test', credit('other', 5n, '1001'))
  const state = createShardState({ shard: SHARD })
  for (const batch of await store.journal.listBatches(SHARD, 1n, 10)) applyNext(state, batch)
  await saveCheckpoint(store.checkpoints, state, (await store.checkpoints.getHead(SHARD))?.version)
  const documents = await opened.collection<Batch>(JOURNAL)
  /** Does what somebody who can write the database, and has no key, can: the amount of an entry becomes another one. */
  async function setAmount(seq: bigint, amount: bigint): Promise<void> {
    const stored = await documents.get({ shard: SHARD, seq })
    if (stored === undefined) throw new Error('the batch is not stored')
    const { version, ...before } = stored
    await documents.replace(
      { ...before, entries: before.entries.map((entry): Entry => ({ ...entry, amount })) },
      version,
    )
  }
  return {
    fixture,
    store,
    alter: (seq = 2n) => setAmount(seq, 999n),
    mend: (seq = 2n) => setAmount(seq, 100n),
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  }
}

/** Resumes the shard, as an operator does who has seen its present stop. */
async function resume({ stops }: LedgerStore, operation_id = 'op-1') {
  const { seq, verification_id } = (await stops.get(SHARD)) ?? { seq: 0n, verification_id: '' }
  return await resumeShard(stops, SHARD, { seq, verification_id, operation_id, reason: 'compared' })
}

async function withLedger(store: LedgerStore, use: (ledger: Ledger) => Promise<void>): Promise<void> {
  const ledger = createLedger(store, trustedClock)
  try {
    await use(ledger)
  } finally {
    await ledger.stop()
  }
}

/** Verifies in the process of a ledger, as the balances role does. */
async function verifyIn(ledger: Ledger, store: LedgerStore): Promise<void> {
  await startVerification(store.verifications, true)
  const options = { onStopChanged: ledger.refreshStops }
  const verifier = createVerifier(store, trustedClock, 'test', 0, options)
  verifier.wake()
  await eventually(
    () => getVerification(store.verifications),
    (progress) => progress?.is_finished === true,
  )
  await verifier.stop()
}

// B4
test('a batch that was altered behind a checkpoint stops its shard, in running processes and after a restart', async () => {
  await using used = await openUsed()
  const { store } = used
  await used.alter()
  expect(await readCheckpoint(store, SHARD)).toMatchObject({ status: 'sound' })
  await withLedger(store, async (ledger) => {
    expect(await ledger.submit('test', credit('e', 1n))).toMatchObject({ recorded: { seq: 5n } })
    await verifyIn(ledger, store)
    const refused = ledger.submit('test', credit('f', 1n))
    await expect(refused).rejects.toThrow(new ShardStopped({ shard: SHARD, seq: 2n }).message)
    await expect(refused).rejects.toBeInstanceOf(Unavailable)
    expect(ledger.limitations()).toEqual([`shard ${SHARD}: stopped`])
    expect(await ledger.submit('test', credit('g', 1n, '1001'))).toMatchObject({ recorded: { seq: 2n } })
  })
  expect(await store.stops.listStopped()).toMatchObject([{ shard: SHARD, seq: 2n, description: DESCRIPTION }])
  await withLedger(store, async (restarted) => {
    await expect(restarted.submit('test', credit('f', 1n))).rejects.toBeInstanceOf(ShardStopped)
    expect(await store.journal.lastSequence(SHARD)).toBe(5n)
  })
})

// B4
test('a verification from the first batch that finds nothing ends the stop, and the command is decided then', async () => {
  await using used = await openUsed()
  const { store } = used
  await used.alter()
  await withLedger(store, async (ledger) => {
    await verifyIn(ledger, store)
    await expect(ledger.submit('test', credit('f', 7n))).rejects.toBeInstanceOf(ShardStopped)
    await verifyIn(ledger, store)
    await expect(ledger.submit('test', credit('f', 7n))).rejects.toBeInstanceOf(ShardStopped)
    await used.mend()
    await verifyIn(ledger, store)
    expect(await store.stops.listStopped()).toEqual([])
    expect(await ledger.submit('test', credit('f', 7n))).toMatchObject({
      recorded: { seq: 5n, entry: { available: 407n } },
    })
    expect(await store.stops.get(SHARD)).toMatchObject({ ended_by: 'verification' })
  })
})

// B4
test('a verification that continues ends no stop', async () => {
  await using used = await openUsed()
  const { store } = used
  expect(await verifyLedger(store)).toMatchObject({ problems: [] })
  await used.alter()
  await verifyLedger(store)
  await used.mend()
  await verifyLedger(store, false)
  expect(await store.stops.listStopped()).toHaveLength(1)
  await verifyLedger(store)
  expect(await store.stops.listStopped()).toEqual([])
})

// B4
test('the operator ends a stop; the same finding does not stop the shard again, and another one does', async () => {
  await using used = await openUsed()
  const { store } = used
  await used.alter(3n)
  await withLedger(store, async (ledger) => {
    await verifyIn(ledger, store)
    const resumed = await resume(store)
    await ledger.refreshStops()
    expect(resumed).toMatchObject({ seq: 3n, ended_by: 'operator', reason: 'compared' })
    expect(await ledger.submit('test', credit('f', 1n))).toMatchObject({ recorded: { seq: 5n } })
    await verifyIn(ledger, store)
    expect(await ledger.submit('test', credit('g', 1n))).toMatchObject({ recorded: { seq: 6n } })
    await used.alter(2n)
    await verifyIn(ledger, store)
    await expect(ledger.submit('test', credit('h', 1n))).rejects.toBeInstanceOf(ShardStopped)
  })
})

// B4
test('a repetition of an operation does not end a later stop, and a shard that is not stopped cannot be resumed', async () => {
  await using used = await openUsed()
  const { store } = used
  const nothing = { seq: 3n, verification_id: 'v', operation_id: 'op-1', reason: 'compared' }
  await expect(resumeShard(store.stops, SHARD, nothing)).rejects.toMatchObject({ code: 8801 })
  await used.alter(3n)
  await verifyLedger(store)
  await resume(store)
  await used.alter(2n)
  await verifyLedger(store)
  expect(await resume(store)).toMatchObject({ seq: 2n })
  expect(await store.stops.listStopped()).toHaveLength(1)
  await resume(store, 'op-2')
  expect(await store.stops.listStopped()).toEqual([])
})

// B4
test('a batch that cannot be read once, and can be read again, stops nothing', async () => {
  await using used = await openUsed()
  const { store } = used
  let readings = 0
  const flaky = withReads(store, (shard, seq) => {
    if (shard !== SHARD || seq !== 1n) return
    readings += 1
    // The read of several batches, and the read of the first of them alone, are one reading.
    if (readings <= 2) throw new CorruptJournal('the disk gave other bytes')
  })
  expect(await verifyLedger(flaky)).toEqual({ entries: 5n, problems: [] })
  expect(readings).toBeGreaterThan(2)
  expect(await store.stops.listStopped()).toEqual([])
})

// B4
test('a batch that is the resume point of a verification and was altered is found too', async () => {
  await using used = await openUsed()
  const { store } = used
  await verifyLedger(store, false)
  await used.alter(4n)
  expect((await verifyLedger(store, false)).problems[0]).toContain('batch 4 does not match its hash')
  expect(await store.stops.listStopped()).toMatchObject([{ shard: SHARD, seq: 4n }])
})

// B4.5
test('a verification of the operator begins anew when the running one has a stopped shard, and ends the stop', async () => {
  await using used = await openUsed()
  const { store } = used
  let is_down = true
  const down = withReads(store, (shard) => {
    if (is_down && shard === shardOf('1001', 'test')) throw new Error('this shard cannot be read now')
  })
  await used.alter()
  const first = await startVerification(store.verifications, true)
  const verifier = createVerifier(down, trustedClock, 'test', 0)
  // The stop is stored before what was found, which the next verification looks for.
  await eventually(
    () => {
      verifier.wake()
      return getVerification(store.verifications)
    },
    (progress) => progress?.shards.get(SHARD)?.status === 'stopped',
  )
  expect(await store.stops.listStopped()).toHaveLength(1)
  await used.mend()
  is_down = false
  // The schedule does not begin anew: with one damaged shard it would never come to the end of the others.
  const scheduled = await startVerification(store.verifications, true, 60_000)
  expect(scheduled.verification.verification_id).toBe(first.verification.verification_id)
  await startVerification(store.verifications, true)
  await eventually(
    () => {
      verifier.wake()
      return getVerification(store.verifications)
    },
    (progress) => progress?.is_finished === true,
  )
  await verifier.stop()
  expect(await store.stops.listStopped()).toEqual([])
})

// B4.5
test('a verification that is interrupted when it ends a stop ends it when it is continued', async () => {
  await using used = await openUsed()
  const { store } = used
  await used.alter()
  await verifyLedger(store)
  await used.mend()
  let failures = 0
  async function fail(): Promise<never> {
    failures += 1
    throw new Error('the process ends here')
  }
  await startVerification(store.verifications, true)
  const interrupted = createVerifier(
    { ...store, stops: { ...store.stops, update: fail } },
    trustedClock,
    'test',
    0,
  )
  await eventually(
    async () => {
      interrupted.wake()
      return failures
    },
    (count) => count !== undefined && count > 0,
  )
  await interrupted.stop()
  // The process that follows need not wait until the lease expires.
  const left = (await store.verifications.listShards()).get(SHARD)
  if (left?.status === 'running')
    await store.verifications.putShard({ ...left, lease: undefined }, left.version)
  const successor = createVerifier(store, trustedClock, 'test', 0)
  await eventually(
    () => {
      successor.wake()
      return getVerification(store.verifications)
    },
    (progress) => progress?.is_finished === true,
  )
  await successor.stop()
  expect(await store.stops.listStopped()).toEqual([])
})

// B4.5
test('what the operator resumed stops the shard again when it was mended, verified and altered once more', async () => {
  await using used = await openUsed()
  const { store } = used
  await used.alter()
  await verifyLedger(store)
  await resume(store)
  await verifyLedger(store)
  expect(await store.stops.listStopped()).toEqual([])
  await used.mend()
  await verifyLedger(store)
  expect(await store.stops.get(SHARD)).toMatchObject({ ended_by: 'operator', reason: 'compared' })
  await used.alter()
  await verifyLedger(store)
  expect(await store.stops.listStopped()).toMatchObject([{ shard: SHARD, seq: 2n, description: DESCRIPTION }])
})

// O4
test('a later stop keeps the acts of the operator in its document, and nothing of the end before', async () => {
  await using used = await openUsed()
  const { store } = used
  await used.alter(3n)
  await verifyLedger(store)
  await resume(store)
  const acts = { act_ids: ['audit-1'], act_changes: ['{}'] }
  await store.stops.update(SHARD, (current) => current && { ...current, ...acts })
  await used.alter(2n)
  await verifyLedger(store)
  const stop = await store.stops.get(SHARD)
  expect(stop).toMatchObject({ ...acts, seq: 2n, operation_ids: ['op-1'] })
  expect(stop?.stopped_since).toEqual(stop?.found_at)
  expect([stop?.ended_at, stop?.ended_by, stop?.reason]).toEqual([undefined, undefined, undefined])
})

// B4.5
test('a resumption that was proposed for one stop does not end another one', async () => {
  await using used = await openUsed()
  const { store } = used
  await used.alter()
  await verifyLedger(store)
  const { seq = 0n, verification_id = '' } = (await store.stops.get(SHARD)) ?? {}
  const proposed = { seq, verification_id, operation_id: 'op-1', reason: 'compared' }
  await used.mend()
  await verifyLedger(store)
  await used.alter(3n)
  await verifyLedger(store)
  await expect(resumeShard(store.stops, SHARD, proposed)).rejects.toMatchObject({ code: 8801 })
  await used.mend(3n)
  await verifyLedger(store)
  await used.alter()
  await verifyLedger(store)
  await expect(resumeShard(store.stops, SHARD, proposed)).rejects.toMatchObject({ code: 8801 })
  expect(await store.stops.listStopped()).toHaveLength(1)
})
