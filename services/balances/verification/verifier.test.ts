import { expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { createSwitchedClockGuard, trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { settled } from '../../../test/support/manual-clock.ts'
import type { Batch } from '../domain/entry.ts'
import { sealBatch } from '../domain/hash-chain.ts'
import { SHARDS, shardOf } from '../domain/shard.ts'
import type { ShardVerification } from '../domain/verification.ts'
import { ledger_signer, NEXT_FORMATS, openFixture } from '../ledger.fixture.ts'
import { CHECKPOINT_INTERVAL_BATCHES } from '../limits.ts'
import { type LedgerStore, openLedgerStore } from '../store/ledger-store.ts'
import { getVerification, startVerification, type VerificationProgress } from '../use-cases/verification.ts'
import {
  finishedVerification,
  journalOf,
  partOfAccounts,
  resultOf,
  verifyLedger,
  withBatches,
  withReads,
  writeJournal,
} from './verification.fixture.ts'
import { createVerifier } from './verifier.ts'

const SHARD = shardOf('1000', 'test')
const LEASE_MS = 30_000

/** Starts a verifier, which begins at once. */
function beginVerifier(store: LedgerStore, name = 'one', clock_guard = trustedClock) {
  const verifier = createVerifier(store, clock_guard, name, 0)
  verifier.wake()
  return verifier
}

async function progressOf({ verifications }: LedgerStore): Promise<VerificationProgress> {
  const progress = await getVerification(verifications)
  if (progress === undefined) throw new Error('no verification was started')
  return progress
}

/** Waits until what is stored about the shard of merchant 1000 is as expected. */
function shardBecomes(
  store: LedgerStore,
  isExpected: (one: ShardVerification) => boolean,
): Promise<ShardVerification> {
  return eventually(
    async () => (await progressOf(store)).shards.get(SHARD) as ShardVerification,
    (one) => one !== undefined && isExpected(one),
  )
}

/** A store on which reads of the shard of merchant 1000 never end once a batch is reached: as in a process that was killed. */
function hangingAt(store: LedgerStore, seq: bigint): LedgerStore {
  return withReads(store, (shard, from) =>
    shard === SHARD && from >= seq ? new Promise<never>(() => {}) : undefined,
  )
}

/** Records the first batch of each read in the shard of merchant 1000. */
function recordingReads(store: LedgerStore): { store: LedgerStore; reads: bigint[] } {
  const reads: bigint[] = []
  const recording = withReads(store, (shard, seq) => {
    if (shard === SHARD) reads.push(seq)
  })
  return { store: recording, reads }
}

test('another process continues at the resume point of one that was killed, once its lease has expired', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const marked_seq = 2n * CHECKPOINT_INTERVAL_BATCHES
  const count = marked_seq + 60n
  await writeJournal(store, Number(count))
  await startVerification(store.verifications, true)
  beginVerifier(hangingAt(store, count - 8n), 'killed')
  const { lease } = await shardBecomes(store, ({ verified }) => verified.seq === marked_seq)
  expect(lease?.holder).toMatch(/^killed /)

  const second = recordingReads(store)
  const verifier = beginVerifier(second.store, 'second')
  // The other shards are free. This one is not before the lease has expired.
  await eventually(
    async () => (await progressOf(store)).shards.size,
    (size) => size === SHARDS,
  )
  await verifier.stop()
  expect(second.reads).toEqual([])

  const clock = createAdjustableClock()
  const restoreClock = useClock(clock)
  clock.stepWall(LEASE_MS)
  const later = beginVerifier(second.store, 'later')
  const progress = await finishedVerification(store)
  await later.stop()
  restoreClock()
  expect(second.reads[0]).toBe(marked_seq + 1n)
  expect(resultOf(progress)).toEqual({ entries: count, problems: [] })
})

test('the lease of a shard that takes long is renewed', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 100)
  await startVerification(store.verifications, true)
  const leases: (Date | undefined)[] = []
  const verifications: typeof store.verifications = {
    ...store.verifications,
    putShard(document, version) {
      if (document.shard === SHARD) leases.push(document.lease?.until)
      return store.verifications.putShard(document, version)
    },
  }
  const clock = createAdjustableClock()
  const restoreClock = useClock(clock)
  // Some batches take longer than a third of the lease. There are too few of them for a resume point.
  clock.setRate(100_000)
  const verifier = beginVerifier({ ...store, verifications })
  expect(resultOf(await finishedVerification(store))).toEqual({ entries: 100n, problems: [] })
  await verifier.stop()
  restoreClock()
  const times = leases.filter((until) => until !== undefined).map((until) => until.getTime())
  expect(times.length).toBeGreaterThan(1)
  expect(times).toEqual([...new Set(times)].sort((one, other) => one - other))
  expect(leases.at(-1)).toBeUndefined()
})

test('two processes share the shards, and none is verified twice', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const merchants = ['1000', '1', '2000', '5', '3', '4']
  const shards = merchants.map((merchant_id) => shardOf(merchant_id, 'test'))
  expect(new Set(shards).size).toBe(merchants.length)
  for (const merchant_id of merchants) await writeJournal(store, 20, merchant_id)
  await startVerification(store.verifications, true)
  const reads: string[] = []
  const gate = Promise.withResolvers<void>()
  const recording = (before: () => Promise<void> | undefined) =>
    withReads(store, (shard, seq) => {
      reads.push(`${shard} ${seq}`)
      return before()
    })
  const slow = beginVerifier(
    recording(() => gate.promise),
    'slow',
  )
  const isSlow = ({ lease }: ShardVerification): boolean => lease?.holder.startsWith('slow ') ?? false
  const held = await eventually(
    async () => [...(await progressOf(store)).shards.values()].find(isSlow),
    (one) => one !== undefined,
  )
  const quick = beginVerifier(
    recording(() => undefined),
    'quick',
  )
  const isDone = ({ status }: ShardVerification): boolean => status === 'done'
  await eventually(
    async () => [...(await progressOf(store)).shards.values()].filter(isDone).length,
    (done) => done === SHARDS - 1,
  )
  await quick.stop()
  expect((await progressOf(store)).shards.get(held?.shard ?? -1)).toMatchObject({ status: 'running' })
  gate.resolve()
  expect(resultOf(await finishedVerification(store))).toEqual({ entries: 120n, problems: [] })
  await slow.stop()
  expect(reads.length).toBe(new Set(reads).size)
})

test('a process that stops saves what it verified, and another one continues there at once', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 100)
  await startVerification(store.verifications, true)
  const stopped = Promise.withResolvers<void>()
  const stopping = withReads(store, (shard, seq) => {
    if (shard === SHARD && seq > 40n) void verifier.stop().then(stopped.resolve)
  })
  const verifier = beginVerifier(stopping)
  await stopped.promise
  const left = await shardBecomes(store, () => true)
  expect(left).toMatchObject({ status: 'running', verified: { seq: 41n, entries: 41n } })
  expect(left.lease).toBeUndefined()
  const { reads, store: recorded } = recordingReads(store)
  const later = beginVerifier(recorded)
  expect(resultOf(await finishedVerification(store))).toEqual({ entries: 100n, problems: [] })
  await later.stop()
  expect(reads[0]).toBe(42n)
})

test('a shard with a batch of a newer format is left to a process of a newer release', async () => {
  await using fixture = await openFixture()
  const { store, opened } = fixture
  const newer = await openLedgerStore(opened, ledger_signer, NEXT_FORMATS)
  await writeJournal(newer, 30)
  const head = (await newer.journal.listBatches(SHARD, 30n, 1)).at(-1)
  const { shard, token, entries } = journalOf(31).at(-1) as Batch
  await newer.journal.append(
    sealBatch(
      { shard, seq: 31n, time: new Date(31) },
      head?.hash ?? '',
      entries,
      token,
      NEXT_FORMATS.written,
    ),
  )
  await startVerification(store.verifications, true)
  const older = beginVerifier(store, 'older')
  const left = await shardBecomes(store, (one) => one.verified.seq > 0n && one.lease === undefined)
  expect(left).toMatchObject({ status: 'running', verified: { seq: 30n }, problems: [] })
  await older.stop()
  const later = beginVerifier(newer, 'newer')
  expect(resultOf(await finishedVerification(store))).toEqual({ entries: 31n, problems: [] })
  await later.stop()
})

test('a process whose clock is wrong verifies nothing', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await startVerification(store.verifications, false)
  const guard = createSwitchedClockGuard()
  guard.setTrusted(false)
  const verifier = beginVerifier(store, 'wrong', guard)
  await settled()
  await verifier.stop()
  expect((await progressOf(store)).shards.size).toBe(0)
})

test('a verification continues after the resume point of the one before, and finds what was altered since', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 30)
  expect(await verifyLedger(store)).toEqual({ entries: 30n, problems: [] })
  const { reads, store: recorded } = recordingReads(store)
  expect(await verifyLedger(recorded, false)).toEqual({ entries: 30n, problems: [] })
  expect(reads).toEqual([])

  const [last] = (await store.journal.listBatches(SHARD, 30n, 1)).slice(-1)
  const next = journalOf(40).slice(30)
  expect(next[0]?.previous_hash).toBe(last?.hash)
  for (const batch of next) await store.journal.append(batch)
  const altered = withBatches(store, alteredAmount(next[4]))
  expect(await verifyLedger(altered, false)).toEqual({
    entries: 34n,
    problems: [
      `shard ${SHARD}, batch 35: shard ${SHARD}: batch 35 does not match its hash; its content was altered`,
    ],
  })
  // What is wrong stays known until it is verified again.
  expect(await verifyLedger(store, false)).toMatchObject({
    entries: 40n,
    problems: [/batch 35/].map(expect.stringMatching),
  })
  expect(await verifyLedger(store)).toEqual({ entries: 40n, problems: [] })
})

function alteredAmount(batch: ReturnType<typeof journalOf>[number] | undefined) {
  if (batch === undefined) throw new Error('there is no such batch')
  return [{ ...batch, entries: batch.entries.map((entry) => ({ ...entry, amount: 2n })) }]
}

test('a batch that was altered before the resume point is found from the first batch on', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const batches = await writeJournal(store, 30)
  await verifyLedger(store)
  const altered = withBatches(store, alteredAmount(batches[9]))
  expect(await verifyLedger(altered, false)).toMatchObject({ problems: [] })
  expect(await verifyLedger(altered)).toMatchObject({
    entries: 9n,
    problems: [expect.stringMatching(/batch 10 does not match its hash/)],
  })
})

test('a resume point is used only while the journal has its batch with the same hash', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 30)
  await verifyLedger(store)
  // Every batch is in order, but it is another journal.
  const { reads, store: recorded } = recordingReads(withBatches(store, journalOf(30, '1000', 2n)))
  expect(await verifyLedger(recorded, false)).toEqual({
    entries: 30n,
    problems: [`shard ${SHARD}, batch 30: batch 30 is not the one that was verified earlier`],
  })
  expect(reads[0]).toBe(1n)
})

test('the loss of verified batches is found', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const batches = await writeJournal(store, 30)
  await verifyLedger(store)
  expect(await verifyLedger(withBatches(store, batches, 20n), false)).toEqual({
    entries: 20n,
    problems: [`shard ${SHARD}, batch 30: batch 30 was verified earlier and is missing`],
  })
})

test('a resume point with an altered row is not used', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 30)
  await verifyLedger(store)
  const verification = (await store.verifications.listShards()).get(SHARD)
  const part = await partOfAccounts(store.verifications.resume_parts, verification?.resume_point?.snapshot)
  const accounts = part.accounts.map((one) => ({ ...one, available: 999_999n }))
  await store.verifications.resume_parts.putPart({ ...part, accounts })
  const { reads, store: recorded } = recordingReads(store)
  expect(await verifyLedger(recorded, false)).toEqual({ entries: 30n, problems: [] })
  expect(reads[0]).toBe(1n)
})

test('starting again changes nothing while a verification is running, but one from the first batch begins anew', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 30)
  await verifyLedger(store)
  const { verification } = await startVerification(store.verifications, false)
  expect((await startVerification(store.verifications, false)).verification).toEqual(verification)
  const anew = await startVerification(store.verifications, true)
  expect(anew.verification.verification_id).not.toBe(verification.verification_id)
  expect((await startVerification(store.verifications, false)).verification).toEqual(anew.verification)
  expect((await startVerification(store.verifications, true)).verification).toEqual(anew.verification)
  const { reads, store: recorded } = recordingReads(store)
  const verifier = beginVerifier(recorded)
  expect(resultOf(await finishedVerification(store))).toEqual({ entries: 30n, problems: [] })
  await verifier.stop()
  expect(reads[0]).toBe(1n)
})

test('a verification that was replaced is given up at its next resume point', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  const count = Number(CHECKPOINT_INTERVAL_BATCHES) + 60
  await writeJournal(store, count)
  await startVerification(store.verifications, false)
  const reads: bigint[] = []
  const replacing = withReads(store, async (shard, seq) => {
    if (shard !== SHARD) return
    if (reads.length === 0) await startVerification(store.verifications, true)
    reads.push(seq)
  })
  const verifier = beginVerifier(replacing)
  expect(resultOf(await finishedVerification(store))).toEqual({ entries: BigInt(count), problems: [] })
  await verifier.stop()
  const again = reads.lastIndexOf(1n)
  expect(again).toBeGreaterThan(0)
  expect(reads[again - 1]).toBeLessThanOrEqual(CHECKPOINT_INTERVAL_BATCHES)
})
