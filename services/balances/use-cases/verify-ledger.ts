import { NewerBatchFormat } from '../domain/batch-format.ts'
import { CorruptJournal } from '../domain/hash-chain.ts'
import { SHARDS } from '../domain/shard.ts'
import { DIFFERENCES_MAX } from '../limits.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { verifyShard } from '../verification/verify-shard.ts'

/** The result of a verification of the whole ledger. */
export interface LedgerVerification {
  readonly consistent: boolean
  /** The number of replayed entries, refusals included. */
  readonly entries: bigint
  /** The first differences in words, at most 100. */
  readonly differences: readonly string[]
}

/**
 * Verifies every shard (B4): replays its journal from the beginning, checks that the journal is sound, and compares it
 * with the checkpoint. It reads page by page and keeps one shard in memory. The ledger may work meanwhile; batches that
 * are committed after the verification of their shard began are not included.
 */
export async function verifyLedger(store: LedgerStore): Promise<LedgerVerification> {
  const differences: string[] = []
  let entries = 0n
  const report = {
    countEntries: (count: number): void => {
      entries += BigInt(count)
    },
    addDifference: (difference: string): void => {
      if (differences.length < DIFFERENCES_MAX) differences.push(difference)
    },
  }
  for (let shard = 0; shard < SHARDS; shard += 1) {
    try {
      await verifyShard(store, shard, report)
    } catch (error) {
      // Such a journal cannot be replayed further. The other shards are still verified.
      if (!(error instanceof CorruptJournal || error instanceof NewerBatchFormat)) throw error
      report.addDifference(error.message)
    }
  }
  return { consistent: differences.length === 0, entries, differences }
}
