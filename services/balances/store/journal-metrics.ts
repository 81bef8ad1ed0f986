import { clock } from '#lib/base/time.ts'
import { counter, histogram } from '#lib/telemetry/metrics.ts'
import type { AppendResult, Journal } from './journal.ts'

const commit_seconds = histogram(
  'multihub_ledger_commit_seconds',
  'Duration of inserts of batches into the ledger journal, by result.',
  ['result'],
)

const entries_total = counter(
  'multihub_ledger_entries_total',
  'Ledger entries that this process committed, refusals included.',
)

/**
 * Wraps a journal so that its inserts are measured. Many results `occupied` mean that several processes decide the
 * same shards and contend for them.
 */
export function withJournalMetrics(journal: Journal): Journal {
  return {
    ...journal,
    async append(batch) {
      const began_ms = clock.monotonic_ms()
      let result: AppendResult | 'failed' = 'failed'
      try {
        result = await journal.append(batch)
        if (result === 'appended') entries_total.increment({}, batch.entries.length)
        return result
      } finally {
        commit_seconds.observe({ result }, (clock.monotonic_ms() - began_ms) / 1000)
      }
    },
  }
}
