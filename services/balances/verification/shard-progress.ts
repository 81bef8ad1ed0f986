import { clock, now } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { loadSnapshot, saveParts } from '../checkpoints/stored-snapshot.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import { createShardState, type ShardState } from '../domain/shard-state.ts'
import { isAcceptedFor } from '../domain/shard-stop.ts'
import {
  addProblem,
  type LedgerProblem,
  type LedgerVerification,
  NOTHING_VERIFIED,
  type ShardVerification,
  type VerificationLease,
  type VerifiedPart,
  withOpenProblems,
} from '../domain/verification.ts'
import {
  CHECKPOINT_INTERVAL_BATCHES,
  CHECKPOINT_INTERVAL_ENTRIES,
  CHECKPOINT_ROWS_PER_ENTRY_MAX,
} from '../limits.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import type { ResumePoint, ShardVerificationDocument, Verifications } from '../store/verifications.ts'

/** After a crash another process continues when this has passed. It exceeds the time of every slice by far. */
const LEASE_MS = 30_000

/** A lease should be renewed when it is this old. */
const RENEW_AFTER_MS = LEASE_MS / 3

function newLease(holder: string): VerificationLease {
  return { holder, until: new Date(clock.now_ms() + LEASE_MS) }
}

/**
 * What a verification of the ledger stores about a shard when this process begins or continues it; nothing is written
 * yet. `stored` is what was read of the shard. Problems of the journal stay until a verification from the first batch,
 * because verifications that continue after the resume point do not come across them again. Problems of a checkpoint or of the archive
 * stay for one verification only, because each looks at the checkpoint, and the archive may be back.
 */
export async function beginShard(
  { journal }: Pick<LedgerStore, 'journal'>,
  { verification_id, from_first_batch }: LedgerVerification,
  holder: string,
  shard: number,
  stored: ShardVerificationDocument | undefined,
): Promise<ShardVerificationDocument> {
  const is_same_verification = stored?.verification_id === verification_id
  // Before the journal's end is read, so that it is not later than that.
  const began_at = now()
  const continued = is_same_verification || !from_first_batch ? stored : undefined
  const begun = {
    shard,
    verification_id,
    status: 'running' as const,
    verified: verifiedAt(continued?.resume_point),
    end_seq: await journal.lastSequence(shard),
    problems: (continued?.problems ?? []).filter(({ place }) => is_same_verification || place === 'journal'),
    has_more_problems: continued?.has_more_problems ?? false,
    resume_point: continued?.resume_point,
    later_point: stored?.later_point ?? stored?.resume_point,
    lease: newLease(holder),
    verified_until: stored?.verified_until,
    updated_at: began_at,
  }
  return withOpenProblems(begun, stored?.open_problems ?? 0)
}

/** The resume point of an earlier verification, if it is beyond this batch. */
export function pointBeyond(
  { later_point }: Pick<ShardVerificationDocument, 'later_point'>,
  seq: bigint,
): ResumePoint | undefined {
  return sequenceAt(later_point) > seq ? later_point : undefined
}

function sequenceAt(resume_point: ResumePoint | undefined): bigint {
  return resume_point?.snapshot.seq ?? 0n
}

function verifiedAt(resume_point: ResumePoint | undefined): VerifiedPart {
  if (resume_point === undefined) return NOTHING_VERIFIED
  const { snapshot, entries } = resume_point
  return { seq: snapshot.seq, hash: snapshot.hash, entries }
}

type Problem = Pick<LedgerProblem, 'seq' | 'description'>

interface ResumedState {
  readonly state: ShardState
  readonly resume_point?: ResumePoint
  readonly problem?: Problem
}

/** What the journal has at a resume point. `given_up`: the operator has resumed the shard without the batch that was verified there. */
type BatchAtPoint =
  | { readonly state: 'same' | 'given_up' }
  | { readonly state: 'lost'; readonly problem: Problem }

async function batchAt(
  { journal, stops }: Pick<LedgerStore, 'journal' | 'stops'>,
  { shard, verification_id }: Pick<ShardVerificationDocument, 'shard' | 'verification_id'>,
  { snapshot: { seq, hash } }: ResumePoint,
): Promise<BatchAtPoint> {
  const stored = await journal.getHash(shard, seq).catch((error: unknown) => {
    if (error instanceof CorruptJournal) return error
    throw error
  })
  if (stored === hash) return { state: 'same' }
  const lost = (description: string): BatchAtPoint => ({ state: 'lost', problem: { seq, description } })
  if (stored instanceof CorruptJournal) return lost(stored.message)
  if (stored === undefined) return lost(`batch ${seq} was verified earlier and is missing`)
  const stop = await stops.get(shard)
  if (stop?.seq === seq && isAcceptedFor(stop, verification_id)) return { state: 'given_up' }
  return lost(`batch ${seq} is not the one that was verified earlier`)
}

/**
 * The problem that the journal has lost a batch which an earlier verification has verified: it ends before that batch, or has another
 * one at its sequence. `undefined` if it has not. It stays until the batch is back, or another one is there and the operator has given it
 * up (B4.9).
 */
export async function problemOfLostBatch(
  store: Pick<LedgerStore, 'journal' | 'stops'>,
  begun: Pick<ShardVerificationDocument, 'shard' | 'verification_id' | 'later_point'>,
): Promise<Problem | undefined> {
  const { later_point } = begun
  const batch = later_point && (await batchAt(store, begun, later_point))
  return batch?.state === 'lost' ? batch.problem : undefined
}

/**
 * Loads the state at the resume point of a shard. It is trusted only while the journal has its batch with the same hash; a
 * missing or other batch is a problem of the journal, which was changed since. Damaged rows are not used either. Without a
 * resume point that can be trusted, the state is empty: the shard is verified from its first batch.
 */
export async function loadResumePoint(
  store: Pick<LedgerStore, 'journal' | 'stops' | 'verifications'>,
  begun: Pick<ShardVerificationDocument, 'shard' | 'verification_id' | 'resume_point'>,
): Promise<ResumedState> {
  const { shard, resume_point } = begun
  const state = createShardState({ shard })
  if (resume_point === undefined) return { state }
  const batch = await batchAt(store, begun, resume_point)
  if (batch.state === 'lost') return { state, problem: batch.problem }
  if (batch.state === 'given_up') return { state }
  const { journal, verifications } = store
  const loaded = await loadSnapshot(verifications.resume_parts, journal, resume_point.snapshot)
  if (loaded.status === 'sound') return { state: createShardState(loaded.snapshot), resume_point }
  log.warn(
    { shard, seq: String(resume_point.snapshot.seq), reason: loaded.problem },
    'the resume point of a verification cannot be used; the shard is verified from its first batch',
  )
  return { state }
}

interface SaveOptions extends Pick<ShardVerification, 'status'> {
  readonly keeps_lease: boolean
}

/** What is stored about the verification of one shard in this process, which holds its lease. */
export type ShardProgress = ReturnType<typeof createShardProgress>

/**
 * Keeps the progress of a shard that was begun, from a resume point that can be trusted. `stored_version` is the version of
 * the stored document, `undefined` without one. With `has_lost_batch` the later point stays, for the next verification to find the
 * same. Resume points are saved as often as checkpoints, because they cost and save the same. Every write names the version before
 * it: a process that lost its lease writes nothing more.
 */
export function createShardProgress(
  verifications: Verifications,
  begun: ShardVerificationDocument,
  stored_version: number | undefined,
  from: { readonly resume_point?: ResumePoint | undefined; readonly has_lost_batch: boolean },
) {
  const { shard, verification_id, lease } = begun
  let version = stored_version
  let { resume_point } = from
  let { entries } = verifiedAt(resume_point)
  let found: Pick<ShardVerification, 'problems' | 'has_more_problems'> = begun
  let saved_at_ms = clock.monotonic_ms()

  const newEntries = (): bigint => entries - (resume_point?.entries ?? 0n)
  const isResumePointAffordable = (state: ShardState): boolean =>
    state.head().seq > sequenceAt(resume_point) &&
    newEntries() * BigInt(CHECKPOINT_ROWS_PER_ENTRY_MAX) >= state.rowCount()

  const isResumePointDue = (state: ShardState): boolean =>
    (state.head().seq - sequenceAt(resume_point) >= CHECKPOINT_INTERVAL_BATCHES ||
      newEntries() >= CHECKPOINT_INTERVAL_ENTRIES) &&
    isResumePointAffordable(state)

  /** Returns `false` when another process has taken the shard. */
  async function save(state: ShardState, { status, keeps_lease }: SaveOptions): Promise<boolean> {
    const { seq, hash } = state.head()
    // So that a complete verification leaves no point of an earlier one, unless it ended before that.
    const is_behind = status === 'done' && pointBeyond(begun, sequenceAt(resume_point)) !== undefined
    const saves_point = is_behind || (keeps_lease ? isResumePointDue(state) : isResumePointAffordable(state))
    if (saves_point)
      resume_point = { snapshot: (await saveParts(verifications.resume_parts, state)).head, entries }
    const next = {
      shard,
      verification_id,
      status,
      verified: { seq, hash, entries },
      end_seq: begun.end_seq,
      problems: found.problems,
      has_more_problems: found.has_more_problems,
      resume_point,
      later_point: from.has_lost_batch ? begun.later_point : pointBeyond(begun, sequenceAt(resume_point)),
      lease: keeps_lease && lease ? newLease(lease.holder) : undefined,
      verified_until: status === 'done' ? begun.updated_at : begun.verified_until,
      updated_at: now(),
    }
    const saved = await verifications.putShard(withOpenProblems(next, begun.open_problems ?? 0), version)
    if (saved === undefined) return false
    version = saved.version
    saved_at_ms = clock.monotonic_ms()
    if (saves_point) await verifications.resume_parts.deletePartsBefore(shard, seq)
    return true
  }

  return {
    /** Counts verified entries. */
    addEntries(count: number): void {
      entries += BigInt(count)
    },
    /** Keeps a problem for the next save. Returns whether it is a new one. */
    addProblem(problem: LedgerProblem): boolean {
      const before = found
      found = addProblem(found, problem)
      return found !== before
    },
    /** Whether a problem of the journal is known, or batches were left out because the archive could not be read. */
    hasProblem: (where: 'journal' | 'archive'): boolean =>
      found.problems.some(({ place }) => place === where) || (where === 'journal' && found.has_more_problems),
    /** Goes on at a later resume point. */
    continueAt(point: ResumePoint): void {
      resume_point = point
      entries = point.entries
    },
    /** Saves what is due: a resume point, or the lease alone. `false`: another process or verification took over. */
    async saveWhenDue(state: ShardState): Promise<boolean> {
      const is_renewal_due = clock.monotonic_ms() - saved_at_ms >= RENEW_AFTER_MS
      if (!is_renewal_due && !isResumePointDue(state)) return true
      const is_current = (await verifications.getCurrent())?.verification_id === verification_id
      return (await save(state, { status: 'running', keeps_lease: is_current })) && is_current
    },
    /** Saves a resume point and gives the lease back. With `running` every process may continue there. */
    async end(state: ShardState, status: ShardVerification['status']): Promise<void> {
      await save(state, { status, keeps_lease: false })
    },
  }
}
