import { clock, now } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { loadSnapshot, saveParts } from '../checkpoints/stored-snapshot.ts'
import { createShardState, type ShardState } from '../domain/shard-state.ts'
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
import type { ShardVerificationDocument, VerificationMark, Verifications } from '../store/verifications.ts'

/** After a crash another process continues when this has passed. It exceeds the time of every slice by far. */
const LEASE_MS = 30_000

/** A lease should be renewed when it is this old. */
const RENEW_AFTER_MS = LEASE_MS / 3

/** A lease from now on. `holder` is this process, as the operator sees it. */
function newLease(holder: string): VerificationLease {
  return { holder, until: new Date(clock.now_ms() + LEASE_MS) }
}

/**
 * What a verification of the ledger stores about a shard when this process begins or continues it; nothing is written
 * yet. `stored` is what was read of the shard. Problems of the journal stay until a verification from the first batch,
 * because those that continue after the mark do not come across them again. Those of a checkpoint stay for one
 * verification only, because each looks at the checkpoint.
 */
export async function beginShard(
  { journal }: Pick<LedgerStore, 'journal'>,
  { verification_id, from_first_batch }: LedgerVerification,
  holder: string,
  shard: number,
  stored: ShardVerificationDocument | undefined,
): Promise<ShardVerificationDocument> {
  const is_same_verification = stored?.verification_id === verification_id
  const continued = is_same_verification || !from_first_batch ? stored : undefined
  const begun = {
    shard,
    verification_id,
    status: 'running' as const,
    verified: verifiedAt(continued?.mark),
    end_seq: await journal.lastSequence(shard),
    problems: (continued?.problems ?? []).filter(({ place }) => is_same_verification || place === 'journal'),
    has_more_problems: continued?.has_more_problems ?? false,
    ...(continued?.mark && { mark: continued.mark }),
    lease: newLease(holder),
    updated_at: now(),
  }
  const known_problems = stored?.open_problems ?? stored?.problems.length ?? 0
  return withOpenProblems(begun, known_problems)
}

/** The part of a journal that a mark covers. */
function verifiedAt(mark: VerificationMark | undefined): VerifiedPart {
  return mark ? { seq: mark.snapshot.seq, hash: mark.snapshot.hash, entries: mark.entries } : NOTHING_VERIFIED
}

/** The state of a shard at its mark; the empty state without one that can be trusted. */
interface MarkedState {
  readonly state: ShardState
  readonly mark?: VerificationMark
  /** What the mark shows about the journal: that the part before it was changed since. */
  readonly problem?: Pick<LedgerProblem, 'seq' | 'description'>
}

/**
 * Loads the state at the mark of a shard. A mark is trusted only while the journal has its batch with the same hash; a
 * missing or other batch is a problem of the journal. A mark with damaged rows is not used either. Without a mark that
 * can be trusted, the shard is verified from its first batch.
 */
export async function loadMark(
  { journal, verifications }: Pick<LedgerStore, 'journal' | 'verifications'>,
  { shard, mark }: Pick<ShardVerificationDocument, 'shard' | 'mark'>,
): Promise<MarkedState> {
  const state = createShardState({ shard })
  if (mark === undefined) return { state }
  const { seq, hash } = mark.snapshot
  const batch = await journal.getBatch(shard, seq)
  if (batch === undefined)
    return { state, problem: { seq, description: `batch ${seq} was verified earlier and is missing` } }
  if (batch.hash !== hash)
    return { state, problem: { seq, description: `batch ${seq} is not the one that was verified earlier` } }
  const loaded = await loadSnapshot(verifications.mark_parts, journal, mark.snapshot)
  if (loaded.status === 'sound') return { state: createShardState(loaded.snapshot), mark }
  log.warn(
    { shard, seq: String(seq), reason: loaded.problem },
    'the mark of a verification cannot be used; the shard is verified from its first batch',
  )
  return { state }
}

/** What is stored about the verification of one shard in this process, which holds its lease. */
export interface ShardProgress {
  /** Counts verified entries. */
  addEntries(count: number): void
  /** Keeps a problem for the next save. Returns whether it is a new one. */
  addProblem(problem: LedgerProblem): boolean
  /** Saves what is due: a mark, or at least the lease. `false`: another process or verification took over, so stop. */
  saveWhenDue(state: ShardState): Promise<boolean>
  /** Saves a mark and gives the lease back. With `running` every process may continue there. */
  end(state: ShardState, status: ShardVerification['status']): Promise<void>
}

/**
 * Keeps the progress of a shard that was begun, from a mark that can be trusted. `stored_version` is that of the stored
 * document, `undefined` without one. Marks are saved as often as
 * checkpoints, because they cost and save the same. Every write names the version of the one before: a process that lost
 * its lease writes nothing more.
 */
export function createShardProgress(
  verifications: Verifications,
  begun: ShardVerificationDocument,
  stored_version: number | undefined,
  trusted_mark: VerificationMark | undefined,
): ShardProgress {
  const { shard, verification_id, lease } = begun
  let version = stored_version
  let mark = trusted_mark
  let { entries } = verifiedAt(mark)
  let found: Pick<ShardVerification, 'problems' | 'has_more_problems'> = begun
  let saved_at_ms = clock.monotonic_ms()

  const newEntries = (): bigint => entries - (mark?.entries ?? 0n)

  const newBatches = (state: ShardState): bigint => state.head().seq - (mark?.snapshot.seq ?? 0n)

  const isMarkAffordable = (state: ShardState): boolean =>
    newBatches(state) > 0n && newEntries() * BigInt(CHECKPOINT_ROWS_PER_ENTRY_MAX) >= state.rowCount()

  function isMarkDue(state: ShardState): boolean {
    const is_long =
      newBatches(state) >= CHECKPOINT_INTERVAL_BATCHES || newEntries() >= CHECKPOINT_INTERVAL_ENTRIES
    return is_long && isMarkAffordable(state)
  }

  /** Returns `false` when another process has taken the shard. */
  async function save(
    state: ShardState,
    { status, keeps_lease }: { status: ShardVerification['status']; keeps_lease: boolean },
  ): Promise<boolean> {
    const { seq, hash } = state.head()
    const is_marked = keeps_lease ? isMarkDue(state) : isMarkAffordable(state)
    if (is_marked) mark = { snapshot: (await saveParts(verifications.mark_parts, state)).head, entries }
    const next = {
      shard,
      verification_id,
      status,
      verified: { seq, hash, entries },
      end_seq: begun.end_seq,
      problems: found.problems,
      has_more_problems: found.has_more_problems,
      ...(mark && { mark }),
      ...(keeps_lease && lease && { lease: newLease(lease.holder) }),
      updated_at: now(),
    }
    const saved = await verifications.putShard(withOpenProblems(next, begun.open_problems ?? 0), version)
    if (saved === undefined) return false
    version = saved.version
    saved_at_ms = clock.monotonic_ms()
    if (is_marked) await verifications.mark_parts.deletePartsBefore(shard, seq)
    return true
  }

  return {
    addEntries(count) {
      entries += BigInt(count)
    },
    addProblem(problem) {
      const before = found
      found = addProblem(found, problem)
      return found !== before
    },
    async saveWhenDue(state) {
      const is_renewal_due = clock.monotonic_ms() - saved_at_ms >= RENEW_AFTER_MS
      if (!is_renewal_due && !isMarkDue(state)) return true
      const current = await verifications.getCurrent()
      const is_current = current?.verification_id === verification_id
      return (await save(state, { status: 'running', keeps_lease: is_current })) && is_current
    },
    async end(state, status) {
      await save(state, { status, keeps_lease: false })
    },
  }
}
