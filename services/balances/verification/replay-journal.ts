import { clock, sleep } from '#lib/base/time.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import type { Batch } from '../domain/entry.ts'
import { CorruptJournal, NewerBatchFormat } from '../domain/hash-chain.ts'
import type { ShardState } from '../domain/shard-state.ts'
import { VERIFIED_BATCHES_PER_READ } from '../limits.ts'
import type { Journal } from '../store/journal.ts'

/** What a replay reads from and how fast it goes. */
export interface ReplayDeps {
  readonly journal: Pick<Journal, 'listBatches'>
  readonly pace: Pick<Pace, 'run'>
}

/**
 * Applies the batches after the head of a state with `apply`, up to `end_seq`. Ends early when `apply` returns `false`.
 * Throws `CorruptJournal` at a batch that is missing or does not follow, and `ArchiveUnavailable` at an archived batch that
 * cannot be read; the state then has all batches before it.
 */
export async function replayJournal(
  { journal, pace }: ReplayDeps,
  state: Pick<ShardState, 'shard' | 'head'>,
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

async function readNext(
  journal: ReplayDeps['journal'],
  state: Pick<ShardState, 'shard' | 'head'>,
): Promise<Batch[]> {
  const next_seq = state.head().seq + 1n
  const batches = await journal
    .listBatches(state.shard, next_seq, VERIFIED_BATCHES_PER_READ)
    .catch((error: unknown) => {
      const is_of_one_batch =
        error instanceof CorruptJournal ||
        error instanceof NewerBatchFormat ||
        error instanceof ArchiveUnavailable
      if (!is_of_one_batch) throw error
      // One of the batches cannot be read. Those before it can, one by one.
      return journal.listBatches(state.shard, next_seq, 1)
    })
  if (batches.length === 0) throw new CorruptJournal(`shard ${state.shard}: batch ${next_seq} is missing`)
  return batches
}

/** Runs slices of background work with pauses between them. */
export type Pace = ReturnType<typeof createPace>

/** How much work is left, in any unit, and until when. */
export interface PaceGoal {
  readonly units: bigint
  /** By `clock.monotonic_ms`. */
  readonly ends_at_ms: number
}

/** A verification renews its lease between two slices. */
const PAUSE_MAX_MS = 5_000

/** The share of the time left that is planned for. The rest is for what takes longer than before. */
const PLANNED_SHARE = 0.9

/** Work of less than this is not followed by a pause of its own, because a timer is not more exact than about 1 ms. */
const PAUSE_AFTER_MS = 5

/**
 * Pauses for `pause_per_work` times as long as the work took, so that the work gets a fixed share of a processor and of
 * the store, and commits the rest. With a goal it pauses longer, as long as the goal is reached. A pause ends at once when
 * `signal` is aborted.
 */
export function createPace(pause_per_work: number, signal: AbortSignal) {
  let unpaused_ms = 0
  let goal: PaceGoal | undefined
  let done_units = 0n
  let worked_ms = 0

  /** The work that is left, in milliseconds without pauses; `undefined` while it cannot be estimated. */
  function workLeft(): number | undefined {
    if (goal === undefined || done_units === 0n) return undefined
    return (worked_ms / Number(done_units)) * Math.max(0, Number(goal.units - done_units))
  }

  function pausePerWork(): number {
    const left_ms = workLeft()
    if (goal === undefined || left_ms === undefined || left_ms === 0 || pause_per_work === 0)
      return pause_per_work
    const time_left_ms = (goal.ends_at_ms - clock.monotonic_ms()) * PLANNED_SHARE
    return Math.max(pause_per_work, time_left_ms / left_ms - 1)
  }

  return {
    /** Sets what is left until when; without a goal the work is as fast as it may be. */
    setGoal(next: PaceGoal | undefined): void {
      goal = next
      done_units = 0n
      worked_ms = 0
    },
    /** Counts work of the goal that is done. */
    count(units: bigint): void {
      done_units += units
    },
    /** The time that the work left takes at its fastest, as far as it can be estimated. */
    fastestEnd_ms(): number | undefined {
      const left_ms = workLeft()
      return left_ms === undefined ? undefined : left_ms * (1 + pause_per_work)
    },
    async run<T>(slice: () => Promise<T>): Promise<T> {
      const began_ms = clock.monotonic_ms()
      const result = await slice()
      const took_ms = clock.monotonic_ms() - began_ms
      unpaused_ms += took_ms
      worked_ms += took_ms
      if (unpaused_ms >= PAUSE_AFTER_MS) {
        const pause_ms = pause_per_work === 0 ? 0 : Math.min(PAUSE_MAX_MS, unpaused_ms * pausePerWork())
        unpaused_ms = 0
        await sleep(pause_ms, signal)
      }
      return result
    },
  }
}
