import { counter, histogram } from '#lib/platform/telemetry/metrics.ts'
import { clock } from '#lib/platform/time.ts'
import type { AppendResult, Journal } from './ledger-store.ts'

const seconds = histogram(
  'multihub_ledger_commit_seconds',
  'How long inserts of batches into the journal took, and with which fate.',
  ['fate'],
)

const entries = counter(
  'multihub_ledger_entries_total',
  'Entries that this process committed, refusals included.',
)

/** The same journal, whose inserts are measured. Many that are `taken` mean that processes fight over shards. */
export function withJournalMetrics(journal: Journal): Journal {
  return {
    ...journal,
    async append(batch) {
      const began_ms = clock.monotonic_ms()
      let fate: AppendResult | 'failed' = 'failed'
      try {
        fate = await journal.append(batch)
        if (fate === 'appended') entries.increment({}, batch.entries.length)
        return fate
      } finally {
        seconds.observe({ fate }, (clock.monotonic_ms() - began_ms) / 1000)
      }
    },
  }
}
