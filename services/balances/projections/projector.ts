import { log } from '#lib/platform/telemetry/log.ts'
import { clock, type Timer } from '#lib/platform/time.ts'
import type { ShardState } from '../domain/shard-state.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import { entryDocuments } from '../store/entries.ts'
import type { LedgerStore } from '../store/ledger-store.ts'

const RETRY_MS = 1_000

/** Writes the projection of entries of one shard from its journal, in the background. */
export interface Projector {
  /** Starts projecting the new batches, unless that is in progress. */
  wake(): void
  /** Resolves when the entries of all batches up to `seq` are in the projection. */
  waitFor(seq: bigint): Promise<void>
  /** Finishes the work in progress. */
  stop(): Promise<void>
}

/**
 * Projects the journal into one `entries` document per entry. It may lag behind, and several processes may project the
 * same batches: every write follows from the journal alone, and the stored progress only rises.
 */
export function createProjector(state: ShardState, store: LedgerStore): Projector {
  const { shard } = state
  let projected_seq: bigint | undefined
  let current_pass: Promise<void> | undefined
  let retry: Timer | undefined
  let is_following = false
  let is_stopped = false

  async function runPass(): Promise<void> {
    projected_seq ??= await store.entries.projectedSequence(shard)
    while (projected_seq < state.head().seq && !is_stopped) {
      const batches = await store.journal.listBatches(shard, projected_seq + 1n, BATCHES_PER_READ)
      for (const batch of batches) await Promise.all(entryDocuments(batch).map(store.entries.insert))
      const last = batches.at(-1)
      if (last === undefined) {
        throw new Error(
          `shard ${shard}: the journal ends before batch ${state.head().seq}, which was read or committed; verify the ledger`,
        )
      }
      await store.entries.advanceProjectedSequence(shard, last.seq)
      projected_seq = last.seq
    }
  }

  function sharePass(): Promise<void> {
    current_pass ??= runPass().finally(() => {
      current_pass = undefined
    })
    return current_pass
  }

  async function follow(): Promise<void> {
    try {
      while (!is_stopped && (projected_seq ?? -1n) < state.head().seq) await sharePass()
    } finally {
      is_following = false
    }
  }

  function wake(): void {
    if (is_following || retry || is_stopped) return
    is_following = true
    follow().catch((error: unknown) => {
      log.warn({ shard, error }, 'writing the projection of a shard failed and will be retried')
      retry = clock.after(RETRY_MS, () => {
        retry = undefined
        wake()
      })
    })
  }

  return {
    wake,
    async waitFor(seq) {
      while ((projected_seq ?? -1n) < seq && !is_stopped) await sharePass()
    },
    async stop() {
      is_stopped = true
      retry?.cancel()
      await current_pass?.catch(() => undefined)
    },
  }
}
