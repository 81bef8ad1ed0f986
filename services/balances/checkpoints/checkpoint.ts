import { uuidv7 } from '#lib/base/ids.ts'
import { clock, type Timer } from '#lib/base/time.ts'
import type { Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { level } from '#lib/telemetry/metrics.ts'
import type { ShardState } from '../domain/shard-state.ts'
import {
  CHECKPOINT_INTERVAL_BATCHES,
  CHECKPOINT_INTERVAL_ENTRIES,
  CHECKPOINT_ROWS_PER_ENTRY_MAX,
} from '../limits.ts'
import type { Checkpoints, SnapshotHead } from '../store/checkpoints.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { type LoadedSnapshot, loadSnapshot, saveParts } from './stored-snapshot.ts'

type CheckpointHead = Stored<SnapshotHead>

/** The stored checkpoint of a shard. A damaged one must not be used. `stored_head` may then be malformed. */
export type StoredCheckpoint = { readonly stored_head: CheckpointHead } & LoadedSnapshot

/**
 * Stores a state as the shard's checkpoint, unless a later one is stored. Returns the head, or `undefined` when another
 * checkpoint stays. `damaged_version` is the version of a damaged head, which is replaced whatever its position.
 * `repair_id` is the repair that the state rests on.
 */
export async function saveCheckpoint(
  checkpoints: LedgerStore['checkpoints'],
  state: Pick<ShardState, 'shard' | 'head' | 'pages'>,
  damaged_version?: number,
  repair_id?: string,
): Promise<CheckpointHead | undefined> {
  const { head, markStored } = await saveParts(checkpoints, state, undefined, repair_id)
  const stored_head = await checkpoints.advanceHead(head, { damaged_version })
  // Parts of the checkpoint that stays must not be deleted.
  if (stored_head === undefined) return undefined
  markStored()
  await checkpoints.deletePartsBefore(head.shard, head.seq)
  return stored_head
}

/**
 * Replaces the checkpoint `base`, from which the state was loaded or as which it was saved, and writes the changed pages
 * only. Returns the new head, or `undefined` when another process has replaced `base`. `looks_for_remains`: deletes what
 * crashed saves left, which needs a read of all parts; otherwise only what `base` had.
 */
export async function saveChanges(
  checkpoints: LedgerStore['checkpoints'],
  state: Pick<ShardState, 'shard' | 'head' | 'pages'>,
  base: CheckpointHead,
  looks_for_remains: boolean,
): Promise<CheckpointHead | undefined> {
  const { head, markStored } = await saveParts(checkpoints, state, base)
  const stored_head = await checkpoints.advanceHead(head, { base_version: base.version })
  if (stored_head === undefined) return undefined
  markStored()
  const { shard, seq } = head
  const kept = new Set(head.parts.map(({ id }) => id))
  if (looks_for_remains) await checkpoints.deletePartsBefore(shard, seq, kept)
  else for (const part of base.parts) if (!kept.has(part.id)) await checkpoints.deletePart(shard, part)
  return stored_head
}

/** Reads the shard's checkpoint and checks it. Returns `undefined` when the shard has none. */
export async function readCheckpoint(
  { checkpoints, journal }: Pick<LedgerStore, 'checkpoints' | 'journal'>,
  shard: number,
): Promise<StoredCheckpoint | undefined> {
  const stored_head = await checkpoints.getHead(shard)
  if (stored_head === undefined) return undefined
  const loaded = await loadSnapshot(checkpoints, journal, stored_head)
  if (loaded.status === 'damaged') {
    // Parts are deleted after a later head was written, so they may be missing only because of a concurrent save.
    const current = await checkpoints.getHead(shard)
    if (current?.version !== stored_head.version) return await readCheckpoint({ checkpoints, journal }, shard)
  }
  return { stored_head, ...loaded }
}

/** The batch of a checkpoint; 0 for a malformed one, which can have anything there. */
export function sequenceOf({ stored_head: { seq } }: StoredCheckpoint): bigint {
  return typeof seq === 'bigint' ? seq : 0n
}

/**
 * Replaces a wrong checkpoint by a verified state, unless another one is stored by now. By the new `repair_id`, processes
 * that loaded the wrong one notice the repair and load the shard again. An empty journal needs no checkpoint, so then the
 * wrong one is only deleted.
 */
export async function repairCheckpoint(
  checkpoints: LedgerStore['checkpoints'],
  wrong: StoredCheckpoint,
  state: ShardState,
): Promise<void> {
  const { shard } = state
  const { version } = wrong.stored_head
  if (state.head().seq > 0n) return void (await saveCheckpoint(checkpoints, state, version, uuidv7()))
  await checkpoints.deleteHead(shard, version)
  await checkpoints.deletePartsBefore(shard, sequenceOf(wrong) + 1n)
}

const RETRY_MS = 1_000

const batches_to_replay = level(
  'multihub_ledger_batches_to_replay',
  'Batches of the loaded shards that are in no checkpoint: what the next loads of these shards replay.',
).of({})

/** Saves checkpoints of one shard in the background, so that the next load of the shard is quick. */
export type Checkpointer = ReturnType<typeof createCheckpointer>

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
) {
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

  /** The rows of a save: the rows of pages whose parts `base` does not have. */
  function rowsToWrite(): number {
    if (base === undefined) return state.rowCount()
    return state.pages().reduce((sum, page) => sum + (page.storedPart() === undefined ? page.count() : 0), 0)
  }

  const isAffordable = (): boolean => newEntries() * CHECKPOINT_ROWS_PER_ENTRY_MAX >= rowsToWrite()

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
    /** Starts saving a checkpoint when one is due, unless one is in progress. */
    wake,
    /** Finishes the save in progress, and saves what was decided since. */
    async stop(): Promise<void> {
      is_stopped = true
      countBatches()
      await saving
      retry?.cancel()
      if (state.head().seq > saved_seq && isAffordable()) await save()
    },
  }
}
