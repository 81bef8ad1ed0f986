import { clock, sleep } from '#lib/base/time.ts'
import type { Batch } from '../domain/entry.ts'
import { CorruptJournal, NewerBatchFormat } from '../domain/hash-chain.ts'
import type { ShardState } from '../domain/shard-state.ts'
import { VERIFIED_BATCHES_PER_READ } from '../limits.ts'
import type { Journal } from '../store/journal.ts'

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

/** Runs slices of background work with pauses between them. */
export type Pace = ReturnType<typeof createPace>

/** Work of less than this is not followed by a pause of its own, because a timer is not more exact than about 1 ms. */
const PAUSE_AFTER_MS = 5

/**
 * Pauses for `pause_per_work` times as long as the work took, so that the work gets a fixed share of a processor and of
 * the store, and commits the rest. A pause ends at once when `signal` is aborted.
 */
export function createPace(pause_per_work: number, signal: AbortSignal) {
  let unpaused_ms = 0
  return {
    async run<T>(slice: () => Promise<T>): Promise<T> {
      const began_ms = clock.monotonic_ms()
      const result = await slice()
      unpaused_ms += clock.monotonic_ms() - began_ms
      if (unpaused_ms >= PAUSE_AFTER_MS) {
        const pause_ms = unpaused_ms * pause_per_work
        unpaused_ms = 0
        await sleep(pause_ms, signal)
      }
      return result
    },
  }
}
