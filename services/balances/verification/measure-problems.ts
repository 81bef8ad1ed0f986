import { gauge, measureOrForget } from '#lib/telemetry/metrics.ts'
import type { LedgerStore } from '../store/ledger-store.ts'

const open_problems = gauge(
  'multihub_ledger_problems',
  'Problems in the whole ledger that the last ended verification of their shard found; 20 at most per shard.',
)

/**
 * Measures the known problems of the ledger, in the whole store (B4). A problem counts until a later verification of its
 * shard has ended without finding it, also after a restart of all processes. Without its result the metric has no value.
 */
export function measureProblems({ verifications }: Pick<LedgerStore, 'verifications'>): Promise<void> {
  return measureOrForget(
    async () => open_problems.set({}, await verifications.countOpenProblems()),
    () => open_problems.remove({}),
  )
}
