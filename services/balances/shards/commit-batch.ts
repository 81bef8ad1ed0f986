import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Batch } from '../domain/entry.ts'
import { NewerBatchFormat } from '../domain/hash-chain.ts'
import { COMMIT_RESOLVE_MAX_MS } from '../limits.ts'
import type { Journal } from '../store/journal.ts'

/**
 * The result of a commit. `superseded`: another batch has the position permanently. `repeated_id`: an earlier batch has
 * one of the ids permanently, so this batch was not and cannot be written. `unknown`: the store did not say in time
 * whether the batch was written; `cause` is the last error.
 */
type CommitResult =
  | { readonly status: 'committed' | 'superseded' | 'repeated_id' }
  | { readonly status: 'unknown'; readonly cause: unknown }

const RETRY_BACKOFF = { first_ms: 10, max_ms: 500 }

/**
 * Commits a batch, or finds out whether it was committed. After an unclear insert it reads the batch's position. While
 * that is empty, it inserts the very same batch again: the position is unique and the token identifies the batch, so it
 * is written at most once. Throws only when it is certain that nothing was written. `may_be_written` says that an
 * earlier call returned `unknown`.
 */
export async function commitBatch(
  journal: Journal,
  batch: Batch,
  may_be_written = false,
): Promise<CommitResult> {
  const deadline_ms = clock.monotonic_ms() + COMMIT_RESOLVE_MAX_MS
  let is_unclear = may_be_written
  let cause: unknown
  for (let failures = 1; ; failures += 1) {
    try {
      const result = await journal.append(batch)
      if (result === 'appended') return { status: 'committed' }
      is_unclear = true
      const stored = await readPosition(journal, batch)
      if (stored) return { status: stored.token === batch.token ? 'committed' : 'superseded' }
      // The position is empty, so it is not this batch that has the id already.
      if (result === 'repeated_id') return { status: 'repeated_id' }
    } catch (error) {
      if (!is_unclear) throw error
      cause = error
    }
    if (clock.monotonic_ms() >= deadline_ms) return { status: 'unknown', cause }
    await sleep(backoffDelay(failures, RETRY_BACKOFF, randomFraction()))
  }
}

/** The token of the batch at the position of this one. A batch of a newer format is not this one, so it has no token. */
async function readPosition(
  journal: Journal,
  { shard, seq }: Batch,
): Promise<{ readonly token?: string } | undefined> {
  try {
    return await journal.getBatch(shard, seq)
  } catch (error) {
    if (error instanceof NewerBatchFormat) return {}
    throw error
  }
}

/** The error for the callers of a batch whose commit has an unknown result. They repeat the command with the same id. */
export function unknownCommitError(batch: Batch, cause: unknown): Unavailable {
  return new Unavailable(
    `shard ${batch.shard}: it is not known yet whether batch ${batch.seq} was committed; repeat the command with the same id`,
    { cause },
  )
}
