import { now, sleep } from '#lib/base/time.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { log, unlimited_log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import { readCheckpoint, repairCheckpoint, sequenceOf } from '../checkpoints/checkpoint.ts'
import type { Batch } from '../domain/entry.ts'
import { assertFollows, CorruptJournal, type JournalHead, NewerBatchFormat } from '../domain/hash-chain.ts'
import type { ShardState } from '../domain/shard-state.ts'
import { endedByVerification, type FoundAlteration, stopFor } from '../domain/shard-stop.ts'
import type { LedgerProblem, LedgerVerification } from '../domain/verification.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import type { ResumePoint, ShardVerificationDocument } from '../store/verifications.ts'
import { checkAccounts, createBatchCheck, problemOfCheckpoint, type ReportProblem } from './checks.ts'
import { type Pace, replayJournal } from './replay-journal.ts'
import {
  createShardProgress,
  loadResumePoint,
  pointBeyond,
  problemOfLostBatch,
  type ShardProgress,
} from './shard-progress.ts'

/** What the verification of a shard needs. `signal` ends it after the present batch. */
export interface ShardVerificationDeps {
  readonly store: LedgerStore
  readonly pace: Pick<Pace, 'run' | 'count'>
  readonly signal: AbortSignal
  /** Called when the stop of a shard was stored or has ended, so that this process acts by it at once. */
  readonly onStopChanged: () => Promise<void>
}

/** The pause before what could not be read as it was written is read again. */
const SECOND_READING_MS = 1_000

const bad_readings = counter(
  'multihub_ledger_bad_readings_total',
  'Batches that a verification could not read as they were written, and read again.',
)

/**
 * Verifies a shard that was begun, from its resume point to the end that its journal had then, and there its accounts and checkpoint
 * (B4). A verification from the first batch replaces a wrong checkpoint, and ends a stop if it finds nothing in the journal. What is not
 * as it was written in two readings stops the shard. From an archived batch that cannot be read to the resume point of an earlier
 * verification, only what is stored is verified, and the shard ends incomplete. It ends early when this process stops or another
 * verification was started, without another write if another process has the lease. Throws `NewerBatchFormat` at a batch of
 * a newer release.
 */
export async function verifyShard(
  deps: ShardVerificationDeps,
  verification: LedgerVerification,
  begun: ShardVerificationDocument,
  stored_version: number | undefined,
): Promise<void> {
  const { journal, verifications } = deps.store
  const { shard, end_seq } = begun
  const { problem, has_lost_batch, ...loaded } = await loadTwice(deps, begun)
  const progress = createShardProgress(verifications, begun, stored_version, { ...loaded, has_lost_batch })
  const report = reportTo(progress, shard)
  const stopAt = async ({ seq, description }: Pick<LedgerProblem, 'seq' | 'description'>): Promise<void> => {
    report('journal')(seq, description)
    await stopShard(deps, verification, { shard, seq, description })
  }
  if (problem) await stopAt(problem)
  let { state } = loaded
  let check = createBatchCheck(state, journal, report('journal'))
  let gap: Gap | undefined
  // The batch that was read once and must be read again.
  let doubted_seq: bigint | undefined
  for (;;) {
    try {
      const is_verified = gap === undefined || (await verifyGap(deps, progress, state, gap))
      if (gap && is_verified) {
        const later = await loadTwice(deps, { ...begun, resume_point: gap.later_point })
        if (later.problem) await stopAt(later.problem)
        if (later.resume_point === undefined) break
        progress.continueAt(later.resume_point)
        state = later.state
        check = createBatchCheck(state, journal, report('journal'))
        gap = undefined
      }
      if (
        is_verified &&
        (await verifyJournal(deps, verification, progress, { state, check, end_seq, report }))
      ) {
        const has_gap = progress.hasProblem('archive')
        // Before the shard is done: after a crash in between, the same verification reads it again and ends the stop.
        if (!has_gap && !progress.hasProblem('journal')) await endStop(deps, verification, begun)
        await progress.end(state, has_gap || has_lost_batch ? 'stopped' : 'done')
      } else if (deps.signal.aborted) await progress.end(state, 'running')
      return
    } catch (error) {
      if (error instanceof NewerBatchFormat) await progress.end(state, 'running')
      if (!(error instanceof CorruptJournal || error instanceof ArchiveUnavailable)) throw error
      const seq = (gap ?? state).head().seq + 1n
      if (doubted_seq !== seq) {
        doubted_seq = seq
        await awaitSecondReading(deps, shard, seq, error.message)
        continue
      }
      if (error instanceof CorruptJournal) {
        await stopAt({ seq, description: error.message })
        break
      }
      report('archive')(seq, error.message)
      gap = createGap(state, pointBeyond(begun, seq), end_seq)
      doubted_seq = undefined
    }
  }
  // The journal cannot be replayed further. The other shards are still verified.
  await progress.end(state, 'stopped')
}

/** Loads the resume point, and once more if the journal was changed or cut off since. */
async function loadTwice(deps: ShardVerificationDeps, at: ShardVerificationDocument) {
  const first = await load(deps.store, at)
  if (first.problem === undefined) return first
  await awaitSecondReading(deps, at.shard, first.problem.seq, first.problem.description)
  return await load(deps.store, at)
}

/** Loads the resume point. A lost batch is a problem whether the point can be used or not. */
async function load(store: LedgerStore, at: ShardVerificationDocument) {
  const problem = await problemOfLostBatch(store, at)
  const loaded = await loadResumePoint(store, at)
  return { ...loaded, problem: problem ?? loaded.problem, has_lost_batch: problem !== undefined }
}

async function awaitSecondReading(
  { signal }: ShardVerificationDeps,
  shard: number,
  seq: bigint,
  reason: string,
): Promise<void> {
  bad_readings.increment({})
  log.warn(
    { shard, seq: String(seq), reason },
    'a batch of the ledger is not as it was written; it is read again',
  )
  await sleep(SECOND_READING_MS, signal)
}

/** Stops the decisions of a shard, before what was found is stored with its verification. */
async function stopShard(
  { store, onStopChanged }: ShardVerificationDeps,
  { verification_id }: LedgerVerification,
  problem: Pick<FoundAlteration, 'shard' | 'seq' | 'description'>,
): Promise<void> {
  const found = { ...problem, verification_id, found_at: now() }
  await store.stops.update(problem.shard, (current) => stopFor(current, found))
  await onStopChanged()
}

async function endStop(
  { store, onStopChanged }: ShardVerificationDeps,
  { verification_id, from_first_batch }: LedgerVerification,
  { shard, updated_at: began_at }: ShardVerificationDocument,
): Promise<void> {
  if (!from_first_batch) return
  // Shards are seldom stopped, so most verifications write nothing.
  const before = await store.stops.get(shard)
  const end = { verification_id, began_at, at: now() }
  if (endedByVerification(before, end) === undefined) return
  await store.stops.update(shard, (current) => endedByVerification(current, end))
  if (before?.stopped_since === undefined) return
  log.info(
    { shard },
    'a verification from the first batch found nothing in a stopped shard, which is used again',
  )
  await onStopChanged()
}

/** What the verification of a journal works on. */
interface JournalInProgress {
  readonly state: ShardState
  readonly check: ReturnType<typeof createBatchCheck>
  readonly end_seq: bigint
  readonly report: ReturnType<typeof reportTo>
}

/** Returns `false` when it ended early. */
async function verifyJournal(
  { store, pace, signal }: ShardVerificationDeps,
  { from_first_batch }: LedgerVerification,
  progress: ShardProgress,
  { state, check, end_seq, report }: JournalInProgress,
): Promise<boolean> {
  const { journal } = store
  const deps = { journal, pace }

  async function verifyUntil(seq: bigint): Promise<boolean> {
    await replayJournal(deps, state, seq, async (batch) => {
      await check(batch)
      pace.count(1n)
      progress.addEntries(batch.entries.length)
      return !signal.aborted && (await progress.saveWhenDue(state))
    })
    return state.head().seq >= seq && !signal.aborted
  }

  if (!(await verifyUntil(end_seq))) return false
  const checkpoint = await readCheckpoint(store, state.shard)
  const checkpoint_seq = checkpoint ? sequenceOf(checkpoint) : 0n
  if (checkpoint?.status === 'sound' && !(await verifyUntil(checkpoint_seq))) return false
  const problem = checkpoint && (await problemOfCheckpoint(deps, checkpoint, state))
  if (checkpoint && problem) {
    report('checkpoint')(checkpoint_seq, `the checkpoint at batch ${checkpoint_seq} ${problem}`)
    // Other verifications rest on a resume point, which may share the fault of a checkpoint saved together with it.
    if (from_first_batch && !progress.hasProblem('archive'))
      await repairCheckpoint(store.checkpoints, checkpoint, state)
  }
  checkAccounts(state.snapshot(), report('journal'))
  return true
}

/** The batches that a verification leaves out because the archive cannot be read. */
type Gap = ReturnType<typeof createGap>

/** The gap after a state, up to a later resume point, else to the end. Its head is the last batch that is verified. */
function createGap(state: ShardState, later_point: ResumePoint | undefined, end_seq: bigint) {
  let head = state.head()
  return {
    shard: state.shard,
    later_point,
    end_seq: later_point?.snapshot.seq ?? end_seq,
    head: (): JournalHead => head,
    append(batch: Batch): void {
      assertFollows(head, batch)
      head = { seq: batch.seq, time_ms: batch.time.getTime(), hash: batch.hash }
    },
  }
}

/**
 * Verifies the batches of a gap as they are stored, by their signatures and the hash chain: a command whose id is not in its stub would
 * be decided again. Returns `false` when it ended early.
 */
async function verifyGap(
  { store: { journal }, pace, signal }: ShardVerificationDeps,
  progress: ShardProgress,
  state: ShardState,
  gap: Gap,
): Promise<boolean> {
  let is_current = true
  await replayJournal(
    { journal: { listBatches: journal.listDocuments }, pace },
    gap,
    gap.end_seq,
    async (batch) => {
      gap.append(batch)
      pace.count(1n)
      is_current = !signal.aborted && (await progress.saveWhenDue(state))
      return is_current
    },
  )
  return is_current
}

function reportTo(progress: ShardProgress, shard: number): (place: LedgerProblem['place']) => ReportProblem {
  return (place) => (seq, description) => {
    if (!progress.addProblem({ seq, place, description })) return
    unlimited_log.error(
      { shard, seq: String(seq), reason: description },
      'a verification found a problem in the ledger',
    )
  }
}
