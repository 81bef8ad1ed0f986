import { log } from '#lib/platform/telemetry/log.ts'
import { clock, type Timer } from '#lib/platform/time.ts'
import type { ShardState } from '../domain/shard-state.ts'
import { BATCHES_PER_READ, CHECKPOINT_INTERVAL_BATCHES } from '../limits.ts'
import { entryDocuments, type LedgerStore } from '../store/ledger-store.ts'
import { saveCheckpoint } from './checkpoint.ts'

const RETRY_MS = 1_000

/** Writes a shard's projections behind its journal. */
export interface Projector {
  /** There is something new to follow. */
  wake(): void
  /** Resolves when the entries up to this batch are in the projection. */
  waitFor(seq: bigint): Promise<void>
  /** Ends the work under way and leaves a checkpoint, so that the shard is loaded quickly next time. */
  stop(): Promise<void>
}

/**
 * Follows the journal with `entries`, one document each, and now and then a checkpoint. It may be behind and it may
 * be done twice, by this process or by several: every write is of what the journal says, and how far the projections
 * go only moves up. `checkpoint_seq` is the batch that the shard was loaded from.
 */
export function createProjector(state: ShardState, store: LedgerStore, checkpoint_seq: bigint): Projector {
  const { shard } = state
  let reflected: bigint | undefined
  let saved = checkpoint_seq
  let passing: Promise<void> | undefined
  let retry: Timer | undefined
  let following = false
  let stopped = false

  async function pass(): Promise<void> {
    reflected ??= await store.entries.projectedSequence(shard)
    while (reflected < state.head().seq && !stopped) {
      const batches = await store.journal.listBatches(shard, reflected + 1n, BATCHES_PER_READ)
      for (const batch of batches) await Promise.all(entryDocuments(batch).map(store.entries.insert))
      const last = batches.at(-1)
      if (last === undefined)
        throw new Error(`shard ${shard}: the journal ends before batch ${state.head().seq}`)
      await store.entries.advanceProjectedSequence(shard, last.seq)
      reflected = last.seq
    }
    if (state.head().seq - saved >= CHECKPOINT_INTERVAL_BATCHES) await checkpoint()
  }

  async function checkpoint(): Promise<void> {
    const snapshot = state.snapshot()
    await saveCheckpoint(store.checkpoints, snapshot)
    saved = snapshot.head.seq
  }

  function passOnce(): Promise<void> {
    passing ??= pass().finally(() => {
      passing = undefined
    })
    return passing
  }

  async function follow(): Promise<void> {
    try {
      while (!stopped && (reflected ?? -1n) < state.head().seq) await passOnce()
    } finally {
      following = false
    }
  }

  function kick(): void {
    if (following || retry || stopped) return
    following = true
    follow().catch((error: unknown) => {
      log.warn({ shard, error }, 'the projections of a shard could not be written and will be tried again')
      retry = clock.after(RETRY_MS, () => {
        retry = undefined
        kick()
      })
    })
  }

  return {
    wake: kick,
    async waitFor(seq) {
      while ((reflected ?? -1n) < seq && !stopped) await passOnce()
    },
    async stop() {
      stopped = true
      retry?.cancel()
      await passing?.catch(() => undefined)
      if (state.head().seq > saved) await checkpoint()
    },
  }
}
