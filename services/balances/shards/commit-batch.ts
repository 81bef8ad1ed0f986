import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { backoffDelay } from '#lib/platform/backoff.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import { clock, sleep } from '#lib/platform/time.ts'
import type { Batch } from '../domain/entry.ts'
import { COMMIT_RESOLVE_MAX_MS } from '../limits.ts'
import type { Journal } from '../store/ledger-store.ts'

/** `overtaken`: another batch has the place, for ever. `unsure`: asked long enough; `cause` is the last fault. */
export type CommitResult = 'ours' | 'overtaken' | { readonly unsure: unknown }

const READ_BACKOFF = { first_ms: 10, max_ms: 500 }

/**
 * Commits a batch, or learns what became of it. Whatever leaves its fate open is answered by reading its place, and
 * while that is empty by inserting the very same batch again: the place is unique and the token tells whose it is, so
 * it is there once at most. Throws only when it is certain that nothing was written; `maybe` says that an earlier
 * call had to leave that open.
 */
export async function commitBatch(journal: Journal, batch: Batch, maybe = false): Promise<CommitResult> {
  const deadline_ms = clock.monotonic_ms() + COMMIT_RESOLVE_MAX_MS
  let open = maybe
  let cause: unknown
  for (let failures = 1; ; failures++) {
    try {
      if ((await journal.append(batch)) === 'appended') return 'ours'
      open = true
      const there = await journal.getBatch(batch.shard, batch.seq)
      if (there) return there.token === batch.token ? 'ours' : 'overtaken'
    } catch (error) {
      if (!open) throw error
      cause = error
    }
    if (clock.monotonic_ms() >= deadline_ms) return { unsure: cause }
    await sleep(backoffDelay(failures, READ_BACKOFF, randomFraction()))
  }
}

/** What everybody who waits is told while the fate of a batch is not known: to come again with the same id. */
export function unsureError(batch: Batch, cause: unknown): Unavailable {
  return new Unavailable(`the fate of batch ${batch.seq} of shard ${batch.shard} is not known yet`, { cause })
}
