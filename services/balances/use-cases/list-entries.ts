import type { Environment } from '#lib/contract/environment.ts'
import type { Batch, RecordedEntry } from '../domain/entry.ts'
import { shardOf } from '../domain/shard.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import type { Journal, Statement } from '../store/journal.ts'

/** One entry of a statement. `position` counts the entries within the batch, from 0. */
export interface StatementEntry extends RecordedEntry {
  readonly position: number
}

/** Selects a page of entries of a merchant, or of one of its payments, after a place in the order (seq, position). */
export interface EntryQuery {
  readonly environment: Environment
  readonly merchant_id: string
  readonly payment_id?: string | undefined
  readonly after?: Pick<StatementEntry, 'seq' | 'position'> | undefined
  readonly limit: number
}

/**
 * Reads one page of entries from the journal, oldest first. Every entry that was acknowledged before the call is
 * included. It reads at most `limit` batches and the one of `after`; one at first, because a busy merchant has many
 * entries in each.
 */
export async function listEntries(
  journal: Journal,
  { environment, after, limit, ...owner }: EntryQuery,
): Promise<StatementEntry[]> {
  const statement = { ...owner, shard: shardOf(owner.merchant_id, environment) }
  const page: StatementEntry[] = []
  let next_seq = after?.seq ?? 1n
  await journal.ensureCurrentReads(statement.shard)
  for (let batches_max = 1; page.length < limit; batches_max *= 2) {
    const count = Math.min(batches_max, BATCHES_PER_READ, limit - page.length)
    const batches = await journal.listStatementBatches(statement, next_seq, count)
    for (const batch of batches)
      page.push(...entriesOf(batch, statement).filter((entry) => isAfter(entry, after)))
    const last = batches.at(-1)
    if (last === undefined || batches.length < count) break
    next_seq = last.seq + 1n
  }
  return page.slice(0, limit)
}

function entriesOf(
  { shard, seq, time, entries }: Batch,
  { merchant_id, payment_id }: Statement,
): StatementEntry[] {
  return entries
    .map((entry, position) => ({ shard, seq, time, position, entry }))
    .filter(
      ({ entry }) =>
        entry.merchant_id === merchant_id && (payment_id === undefined || entry.payment_id === payment_id),
    )
}

function isAfter({ seq, position }: StatementEntry, after: EntryQuery['after']): boolean {
  return after === undefined || seq > after.seq || (seq === after.seq && position > after.position)
}
