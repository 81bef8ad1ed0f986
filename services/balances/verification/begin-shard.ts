import { clock, now } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { loadSnapshot } from '../checkpoints/stored-snapshot.ts'
import { createShardState, type ShardState } from '../domain/shard-state.ts'
import {
  type LedgerProblem,
  type LedgerVerification,
  NOTHING_VERIFIED,
  type VerificationLease,
  type VerifiedPart,
  withOpenProblems,
} from '../domain/verification.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import type { ShardVerificationDocument, VerificationMark } from '../store/verifications.ts'

/** After a crash another process continues when this has passed. It exceeds the time of every slice by far. */
const LEASE_MS = 30_000

/** A lease should be renewed when it is this old. */
export const RENEW_AFTER_MS = LEASE_MS / 3

/** A lease from now on. `holder` is this process, as the operator sees it. */
export function newLease(holder: string): VerificationLease {
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
export function verifiedAt(mark: VerificationMark | undefined): VerifiedPart {
  return mark ? { seq: mark.snapshot.seq, hash: mark.snapshot.hash, entries: mark.entries } : NOTHING_VERIFIED
}

/** The state of a shard at its mark; the empty state without one that can be trusted. */
export interface MarkedState {
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
