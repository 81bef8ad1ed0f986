import { clock, now } from '#lib/base/time.ts'
import { saveParts } from '../checkpoints/stored-snapshot.ts'
import type { ShardState } from '../domain/shard-state.ts'
import {
  addProblem,
  type LedgerProblem,
  type ShardVerification,
  withOpenProblems,
} from '../domain/verification.ts'
import {
  CHECKPOINT_INTERVAL_BATCHES,
  CHECKPOINT_INTERVAL_ENTRIES,
  CHECKPOINT_ROWS_PER_ENTRY_MAX,
} from '../limits.ts'
import type { ShardVerificationDocument, VerificationMark, Verifications } from '../store/verifications.ts'
import { newLease, RENEW_AFTER_MS, verifiedAt } from './begin-shard.ts'

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
