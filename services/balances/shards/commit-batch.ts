import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type CommitResult, commitBatch } from '#lib/patterns/journal/commit-batch.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import type { Batch } from '../domain/entry.ts'
import { NewerBatchFormat } from '../domain/hash-chain.ts'
import type { Journal } from '../store/journal.ts'

/** Commits a batch of a shard, or finds out whether it was committed; see `commitBatch`. */
export async function commitToJournal(
  journal: Journal,
  batch: Batch,
  may_be_written = false,
): Promise<CommitResult> {
  const readPosition = (one: Batch) => readToken(journal, one)
  return await commitBatch({ append: journal.append, readPosition }, batch, may_be_written)
}

/**
 * The token of the batch at the position of this one. A batch of a newer format is not this one, so it has no token. The hash tells
 * whether an archived batch is this one, without its body.
 */
async function readToken(
  journal: Journal,
  { shard, seq, hash, token }: Batch,
): Promise<{ readonly token?: string } | undefined> {
  try {
    return await journal.getBatch(shard, seq)
  } catch (error) {
    if (error instanceof NewerBatchFormat) return {}
    if (error instanceof ArchiveUnavailable)
      return (await journal.getHash(shard, seq)) === hash ? { token } : {}
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
