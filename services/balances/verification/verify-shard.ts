import { unlimited_log } from '#lib/telemetry/log.ts'
import { readCheckpoint, repairCheckpoint, sequenceOf } from '../checkpoints/checkpoint.ts'
import { CorruptJournal, NewerBatchFormat } from '../domain/hash-chain.ts'
import type { ShardState } from '../domain/shard-state.ts'
import type { LedgerProblem, LedgerVerification } from '../domain/verification.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import type { ShardVerificationDocument } from '../store/verifications.ts'
import { checkAccounts, createBatchCheck, problemOfCheckpoint, type ReportProblem } from './checks.ts'
import { type Pace, replayJournal } from './replay-journal.ts'
import { createShardProgress, loadResumePoint, type ShardProgress } from './shard-progress.ts'

/** What the verification of a shard needs. `signal` ends it after the present batch. */
export interface ShardVerificationDeps {
  readonly store: LedgerStore
  readonly pace: Pace
  readonly signal: AbortSignal
}

/**
 * Verifies a shard that was begun, from its resume point to the end that its journal had then, and there its accounts and
 * checkpoint (B4). The ledger may work meanwhile. A verification from the first batch replaces a wrong checkpoint. Ends
 * early, so that any process may continue, when this process stops or another verification was started; and without
 * another write when another process has the lease. Throws `NewerBatchFormat` at a batch that only processes of a newer
 * release can verify.
 */
export async function verifyShard(
  deps: ShardVerificationDeps,
  verification: LedgerVerification,
  begun: ShardVerificationDocument,
  stored_version: number | undefined,
): Promise<void> {
  const { verifications } = deps.store
  const { state, resume_point, problem } = await loadResumePoint(deps.store, begun)
  const progress = createShardProgress(verifications, begun, stored_version, resume_point)
  const report = reportTo(progress, begun.shard)
  if (problem) report('journal')(problem.seq, problem.description)
  try {
    const is_complete = await verifyJournal(deps, verification, progress, state, begun.end_seq, report)
    if (is_complete) await progress.end(state, 'done')
    else if (deps.signal.aborted) await progress.end(state, 'running')
  } catch (error) {
    if (error instanceof NewerBatchFormat) await progress.end(state, 'running')
    if (!(error instanceof CorruptJournal)) throw error
    // A corrupt journal cannot be replayed further. The other shards are still verified.
    report('journal')(state.head().seq + 1n, error.message)
    await progress.end(state, 'stopped')
  }
}

/** Returns `false` when it ended early. */
async function verifyJournal(
  { store, pace, signal }: ShardVerificationDeps,
  { from_first_batch }: LedgerVerification,
  progress: ShardProgress,
  state: ShardState,
  end_seq: bigint,
  report: ReturnType<typeof reportTo>,
): Promise<boolean> {
  const { journal } = store
  const deps = { journal, pace }
  const check = createBatchCheck(state, journal, report('journal'))

  async function verifyUntil(seq: bigint): Promise<boolean> {
    await replayJournal(deps, state, seq, async (batch) => {
      await check(batch)
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
    if (from_first_batch) await repairCheckpoint(store.checkpoints, checkpoint, state)
  }
  checkAccounts(state.snapshot(), report('journal'))
  return true
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
