import { clock, type Timer } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { level } from '#lib/telemetry/metrics.ts'
import type { ShardState } from '../domain/shard-state.ts'
import {
  CHECKPOINT_INTERVAL_BATCHES,
  CHECKPOINT_INTERVAL_ENTRIES,
  CHECKPOINT_ROWS_PER_ENTRY_MAX,
} from '../limits.ts'
import type { Checkpoints } from '../store/checkpoints.ts'
import { type CheckpointHead, saveChanges, saveCheckpoint } from './checkpoint.ts'

const RETRY_MS = 1_000

const batches_to_replay = level(
  'multihub_ledger_batches_to_replay',
  'Batches of the loaded shards that are in no checkpoint: what the next loads of these shards replay.',
).of({})

/** Saves checkpoints of one shard in the background, so that the next load of the shard is quick. */
export interface Checkpointer {
  /** Starts saving a checkpoint when one is due, unless one is in progress. */
  wake(): void
  /** Finishes the save in progress, and saves what was decided since. */
  stop(): Promise<void>
}

/**
 * Saves a checkpoint every `CHECKPOINT_INTERVAL_BATCHES` or `CHECKPOINT_INTERVAL_ENTRIES`, whichever comes first, while
 * the shard goes on deciding. It writes the pages that were changed since the checkpoint before, so open holds that never
 * end are written once. Its cost is bounded: a checkpoint of many rows waits until there are enough new entries that at
 * most `CHECKPOINT_ROWS_PER_ENTRY_MAX` rows are written per entry. `loaded` is the head of the checkpoint that the shard
 * was loaded from. `damaged` is the head of a damaged checkpoint to be replaced. A state that was loaded before
 * the last repair of the checkpoint replaces it no more.
 */
export function createCheckpointer(
  state: ShardState,
  checkpoints: Checkpoints,
  loaded?: CheckpointHead,
  damaged?: CheckpointHead,
): Checkpointer {
  const { shard } = state
  const repair_id = (loaded ?? damaged)?.repair_id
  let base = loaded
  let saved_seq = loaded?.seq ?? 0n
  let saved_entries = 0
  let is_first = true
  let saving: Promise<void> | undefined
  let retry: Timer | undefined
  let is_stopped = false
  let counted_batches = 0

  function countBatches(): void {
    const batches = is_stopped ? 0 : Number(state.head().seq - saved_seq)
    batches_to_replay.value += batches - counted_batches
    counted_batches = batches
  }

  const newEntries = (): number => state.appendedEntries() - saved_entries

  const isAffordable = (): boolean => newEntries() * CHECKPOINT_ROWS_PER_ENTRY_MAX >= rowsToWrite(state, base)

  function isDue(): boolean {
    const is_interval_over =
      state.head().seq - saved_seq >= CHECKPOINT_INTERVAL_BATCHES ||
      newEntries() >= CHECKPOINT_INTERVAL_ENTRIES
    return is_interval_over && isAffordable()
  }

  async function save(): Promise<void> {
    const entries = state.appendedEntries()
    const { seq } = state.head()
    state.mergePages()
    // When another process replaced the base, the next checkpoint writes everything, because parts may be gone.
    base = base
      ? await saveChanges(checkpoints, state, base, is_first)
      : await saveCheckpoint(checkpoints, state, damaged?.version, repair_id)
    is_first = false
    saved_entries = entries
    saved_seq = seq
    countBatches()
  }

  async function saveWhileDue(): Promise<void> {
    try {
      while (!is_stopped && isDue()) await save()
    } catch (error) {
      log.warn({ shard, error }, 'saving the checkpoint of a shard failed and will be retried')
      retry = clock.after(RETRY_MS, () => {
        retry = undefined
        wake()
      })
    } finally {
      saving = undefined
    }
  }

  function wake(): void {
    countBatches()
    if (saving || retry || is_stopped || !isDue()) return
    saving = saveWhileDue()
  }

  return {
    wake,
    async stop() {
      is_stopped = true
      countBatches()
      await saving
      retry?.cancel()
      if (state.head().seq > saved_seq && isAffordable()) await save()
    },
  }
}

/** The rows that a save would write: those of the pages whose parts `base` does not have. */
function rowsToWrite(state: ShardState, base: CheckpointHead | undefined): number {
  if (base === undefined) return state.rowCount()
  return state.pages().reduce((sum, page) => sum + (page.storedPart() === undefined ? page.count() : 0), 0)
}
