import { deleteEnded, startRetentionWalk, type TestRetention } from '#lib/patterns/test-retention.ts'
import type { Collection } from '#lib/store/store.ts'
import { canEnd, type Operation } from '../domain/operation.ts'
import { OPERATIONS } from '../store/operations.ts'

/**
 * How many retentions an operation is kept after its last change. Its key names one operation as long as its payment can send it. A
 * payment lives one retention after its own last change, and a chargeback or a refund shortly before its end lets it live one more.
 */
const RETENTIONS = 2
/** A deposit that nobody pays is asked for until it expires, which a route permits for 30 days. */
const OPEN_MAX_MS = 31 * 86_400_000

/** Forgets operations whose payments have been deleted (O25). `stop` waits for the walk. */
export function startOperationRetention(
  operations: Collection<Operation>,
  { clock_guard, retention_ms }: TestRetention,
): { stop(): Promise<void> } {
  return startRetentionWalk(
    { spec: OPERATIONS, collection: operations },
    { clock_guard, retention_ms: retention_ms && OPEN_MAX_MS + retention_ms * RETENTIONS },
    async (operation) => {
      if (canEnd(operation)) await deleteEnded(OPERATIONS, operations, operation)
    },
  )
}
