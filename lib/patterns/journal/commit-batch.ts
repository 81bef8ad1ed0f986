import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { Ambiguous, Duplicate } from '#lib/store/errors.ts'

/**
 * The result of an insert into a journal. `occupied`: a batch has this position already, perhaps this very one.
 * `repeated_id`: a batch contains one of the ids already, perhaps this very one. `unknown`: the insert may or may not
 * have happened.
 */
export type AppendResult = 'appended' | 'occupied' | 'repeated_id' | 'unknown'

/**
 * The result of a commit. `superseded`: another batch has the position permanently. `repeated_id`: an earlier batch has
 * one of the ids permanently, so this batch was not and cannot be written. `unknown`: the store did not say in time
 * whether the batch was written; `cause` is the last error.
 */
export type CommitResult =
  | { readonly status: 'committed' | 'superseded' | 'repeated_id' }
  | { readonly status: 'unknown'; readonly cause: unknown }

interface BatchLog<B> {
  /** Inserts a batch at its position. Throws only when it is certain that nothing was written. */
  append(batch: B): Promise<AppendResult>
  /** What has the position of a batch, by a linearizable read. Another batch need not have a token. */
  readPosition(batch: B): Promise<{ readonly token?: string } | undefined>
}

/** Longest time spent on finding out whether a batch was committed. */
const COMMIT_RESOLVE_MAX_MS = 5_000

const RETRY_BACKOFF = { first_ms: 10, max_ms: 500 }

/** What the insert of a batch came to. Throws other failures of the store, after which nothing was written. */
export async function appendResultOf(insert: Promise<unknown>): Promise<AppendResult> {
  try {
    await insert
    return 'appended'
  } catch (error) {
    if (error instanceof Duplicate) return error.index === 'key' ? 'occupied' : 'repeated_id'
    if (error instanceof Ambiguous) return 'unknown'
    throw error
  }
}

/**
 * Commits a batch, or finds out whether it was committed. After an unclear insert it reads the batch's position. While
 * that is empty, it inserts the very same batch again: the position is unique and the token identifies the batch, so it
 * is written at most once. Throws only when it is certain that nothing was written. `may_be_written` says that an
 * earlier call returned `unknown`.
 */
export async function commitBatch<B extends { readonly token: string }>(
  log: BatchLog<B>,
  batch: B,
  may_be_written = false,
): Promise<CommitResult> {
  const deadline_ms = clock.monotonic_ms() + COMMIT_RESOLVE_MAX_MS
  let is_unclear = may_be_written
  let cause: unknown
  for (let failures = 1; ; failures += 1) {
    try {
      const result = await log.append(batch)
      if (result === 'appended') return { status: 'committed' }
      is_unclear = true
      const stored = await log.readPosition(batch)
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
