import { NewerBatchFormat } from '../domain/batch-format.ts'
import type { Batch } from '../domain/entry.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import type { ShardState } from '../domain/shard-state.ts'
import { VERIFIED_BATCHES_PER_READ } from '../limits.ts'
import type { Journal } from '../store/journal.ts'
import type { Pace } from './pace.ts'

/** What a replay reads from and how fast it goes. */
export interface ReplayDeps {
  readonly journal: Pick<Journal, 'listBatches'>
  readonly pace: Pace
}

/**
 * Applies the batches after the head of a state with `apply`, up to `end_seq`. Ends early when `apply` returns `false`.
 * Throws `CorruptJournal` at a batch that is missing or does not follow; the state then has all batches before it.
 */
export async function replayJournal(
  { journal, pace }: ReplayDeps,
  state: ShardState,
  end_seq: bigint,
  apply: (batch: Batch) => Promise<boolean>,
): Promise<void> {
  while (state.head().seq < end_seq) {
    for (const batch of await pace.run(() => readNext(journal, state))) {
      if (batch.seq > end_seq) return
      if (!(await pace.run(() => apply(batch)))) return
    }
  }
}

async function readNext(journal: ReplayDeps['journal'], state: ShardState): Promise<Batch[]> {
  const next_seq = state.head().seq + 1n
  const batches = await journal
    .listBatches(state.shard, next_seq, VERIFIED_BATCHES_PER_READ)
    .catch((error: unknown) => {
      if (!(error instanceof CorruptJournal || error instanceof NewerBatchFormat)) throw error
      // One of the batches cannot be read. Those before it can, one by one.
      return journal.listBatches(state.shard, next_seq, 1)
    })
  if (batches.length === 0) throw new CorruptJournal(`shard ${state.shard}: batch ${next_seq} is missing`)
  return batches
}
