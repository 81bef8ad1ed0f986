import { VERIFICATION_PROBLEMS_MAX } from '../limits.ts'

/** Something that is wrong in a shard. `seq` is the batch that it is about. */
export interface LedgerProblem {
  readonly seq: bigint
  /**
   * `checkpoint`: in the checkpoint that was stored then. `archive`: the archive could not be read, which says nothing about the
   * journal. Each verification looks for both anew.
   */
  readonly place: 'journal' | 'checkpoint' | 'archive'
  readonly description: string
}

/** How far the journal of a shard is verified, from its first batch on. Zero and empty before that. */
export interface VerifiedPart {
  readonly seq: bigint
  /** The hash of batch `seq`, which covers all batches before it. */
  readonly hash: string
  readonly entries: bigint
}

/** The right of one process to verify a shard until a time. It saves work: to verify twice would do no harm. */
export interface VerificationLease {
  readonly holder: string
  readonly until: Date
}

/**
 * The verification of one shard. `stopped`: the batch after `verified` is corrupt, so that nothing after it can be verified; or an
 * archived batch could not be read, after which only what follows an earlier resume point was verified, if there is one; or the journal
 * has lost a batch that was verified earlier.
 */
export interface ShardVerification {
  readonly shard: number
  /** The verification of the ledger that this belongs to. */
  readonly verification_id: string
  readonly status: 'running' | 'done' | 'stopped'
  readonly verified: VerifiedPart
  /** The last batch of the journal when the verification of the shard began. It ends there. */
  readonly end_seq: bigint
  readonly problems: readonly LedgerProblem[]
  readonly has_more_problems: boolean
  /** The number of known problems; until this verification has ended, also of the one before it. Absent without any. */
  readonly open_problems?: number | undefined
  readonly lease?: VerificationLease | undefined
  /** Every batch that was committed before was verified by a verification which has ended; absent before the first has. */
  readonly verified_until?: Date | undefined
  readonly updated_at: Date
}

/** A verification of the whole ledger, as the operator or the schedule started it. */
export interface LedgerVerification {
  readonly verification_id: string
  /** Whether it begins at the first batch of each journal. Otherwise it continues where earlier ones ended. */
  readonly from_first_batch: boolean
  readonly started_at: Date
  /** When a scheduled verification should have ended, which sets its pace. Absent for one that the operator started. */
  readonly due_at?: Date | undefined
  /** When the newest verification from the first batch began. */
  readonly full_began_at?: Date | undefined
  /** When the newest verification from the first batch that has ended began: all batches before were verified by it. */
  readonly full_verified_until?: Date | undefined
}

/**
 * When the next scheduled verification from the first batch begins. Two of them begin per interval, and each is paced to end before
 * the next: a batch that was altered right after one has read it is read again within the interval.
 */
export function nextScheduledStart(
  current: LedgerVerification | undefined,
  { interval_ms, process_started_at }: { interval_ms: number; process_started_at: Date },
): Date {
  if (current?.full_began_at === undefined)
    return new Date(process_started_at.getTime() + Math.min(interval_ms / 2, FIRST_START_MS))
  return new Date(current.full_began_at.getTime() + interval_ms / 2)
}

/** A ledger that was never verified is new, mostly. Its start has more urgent work. */
const FIRST_START_MS = 600_000

/** The verified part of a journal of which nothing is verified. */
export const NOTHING_VERIFIED: VerifiedPart = { seq: 0n, hash: '', entries: 0n }

/**
 * Adds `open_problems`: the problems of an ended verification; of a running one at least those that were `known` before,
 * because it has not looked at everything yet.
 */
export function withOpenProblems<V extends Pick<ShardVerification, 'status' | 'problems'>>(
  verification: V,
  known: number,
): V & Pick<ShardVerification, 'open_problems'> {
  const { status, problems } = verification
  const open_problems = status === 'running' ? Math.max(known, problems.length) : problems.length
  return open_problems === 0 ? verification : { ...verification, open_problems }
}

/** Whether a process may begin or continue the verification of a shard. `current` is what is stored about the shard. */
export function mayVerify(
  { verification_id }: LedgerVerification,
  current: ShardVerification | undefined,
  holder: string,
  at: Date,
): boolean {
  if (isShardDone(verification_id, current)) return false
  const lease = current?.lease
  return lease === undefined || lease.holder === holder || lease.until <= at
}

/** Whether a verification has nothing left to do in a shard. */
export function isShardDone(verification_id: string, current: ShardVerification | undefined): boolean {
  return current?.verification_id === verification_id && current.status !== 'running'
}

/**
 * Adds a problem, unless it is known. At most `VERIFICATION_PROBLEMS_MAX` are kept per shard; more of them tell the
 * operator nothing new. The first one of the archive is always kept: with it the verification is incomplete.
 */
export function addProblem<V extends Pick<ShardVerification, 'problems' | 'has_more_problems'>>(
  verification: V,
  problem: LedgerProblem,
): V {
  const { problems } = verification
  const isSame = ({ seq, description }: LedgerProblem): boolean =>
    seq === problem.seq && description === problem.description
  if (problems.some(isSame)) return verification
  const is_gap = problem.place === 'archive' && problems.every(({ place }) => place !== 'archive')
  if (problems.length >= VERIFICATION_PROBLEMS_MAX && !is_gap)
    return { ...verification, has_more_problems: true }
  return { ...verification, problems: [...problems, problem] }
}
