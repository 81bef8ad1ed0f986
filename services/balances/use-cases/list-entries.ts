import type { Environment } from '#lib/contract/environment.ts'
import { type Batch, findEntry, type RecordedEntry } from '../domain/entry.ts'
import { shardOf } from '../domain/shard.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import type { Journal, SequenceRange, Statement } from '../store/journal.ts'

/** One entry of a statement. `position` counts the entries within the batch, from 0. */
export interface StatementEntry extends RecordedEntry {
  readonly position: number
}

/** The place of an entry in a statement. */
export type StatementPlace = Pick<StatementEntry, 'seq' | 'position'>

/**
 * Selects a page of entries of a merchant, or of one of its payments, currencies or kinds, decided from
 * `created_from` (inclusive) to `created_to` (exclusive), after a place in the order of the list.
 */
export interface EntryQuery extends Omit<Statement, 'shard'> {
  readonly environment: Environment
  readonly created_from?: Date | undefined
  readonly created_to?: Date | undefined
  /** Absent for oldest first. */
  readonly newest_first?: boolean
  /** A place in the very same list, of which only the limit may differ. */
  readonly after?: StatementPlace | undefined
  readonly limit: number
}

/**
 * Reads one page of entries from the journal. Every entry that was acknowledged before the call is included. It reads at
 * most `limit` batches, the one of `after`, and the ones at the bounds of the time; one of the statement at first,
 * because a busy merchant has many entries in each.
 */
export async function listEntries(journal: Journal, query: EntryQuery): Promise<StatementEntry[]> {
  const {
    environment,
    merchant_id,
    payment_id,
    currency,
    kind,
    newest_first: reverse = false,
    after,
    limit,
  } = query
  const statement = { shard: shardOf(merchant_id, environment), merchant_id, payment_id, currency, kind }
  await journal.ensureCurrentReads(statement.shard)
  let range = await rangeOf(journal, statement.shard, query)
  const page: StatementEntry[] = []
  for (let batches_max = 1; range && page.length < limit; batches_max *= 2) {
    const count = Math.min(batches_max, BATCHES_PER_READ, limit - page.length)
    const batches = await journal.listStatementBatches(statement, range, { limit: count, reverse })
    for (const batch of batches) {
      const entries = entriesOf(batch, statement)
      const ordered = reverse ? entries.reverse() : entries
      page.push(...ordered.filter((entry) => after === undefined || isAfter(entry, after, reverse)))
    }
    const end = batches.at(-1)
    if (end === undefined || batches.length < count) break
    range = reverse ? { ...range, last: end.seq - 1n } : { ...range, first: end.seq + 1n }
  }
  return page.slice(0, limit)
}

/** The merchant's entry with this id, by one read of its batch; `undefined` when there is none. */
export async function getEntry(
  journal: Journal,
  environment: Environment,
  merchant_id: string,
  entry_id: string,
): Promise<RecordedEntry | undefined> {
  const shard = shardOf(merchant_id, environment)
  await journal.ensureCurrentReads(shard)
  const [batch] = await journal.findByEntryId(shard, entry_id, 1)
  const found = batch && findEntry(batch, entry_id)
  return found?.entry.merchant_id === merchant_id ? found : undefined
}

/** The batches that a page can have entries of; `undefined` when there are none. Times of batches never go back. */
async function rangeOf(
  journal: Journal,
  shard: number,
  { created_from, created_to, newest_first = false, after }: EntryQuery,
): Promise<SequenceRange | undefined> {
  const resumed = newest_first ? { last: after?.seq } : { first: after?.seq }
  const first =
    resumed.first ?? (created_from === undefined ? 1n : await journal.firstSequenceFrom(shard, created_from))
  if (first === undefined) return undefined
  const last = resumed.last ?? (created_to && (await journal.lastSequenceBefore(shard, created_to)))
  return { first, last }
}

function entriesOf(
  { shard, seq, time, entries }: Batch,
  { merchant_id, payment_id, currency, kind }: Statement,
): StatementEntry[] {
  const isOf = ({ entry }: StatementEntry): boolean =>
    entry.merchant_id === merchant_id &&
    (payment_id === undefined || entry.payment_id === payment_id) &&
    (currency === undefined || entry.currency === currency) &&
    (kind === undefined || entry.kind === kind)
  return entries.map((entry, position) => ({ shard, seq, time, position, entry })).filter(isOf)
}

function isAfter({ seq, position }: StatementEntry, after: StatementPlace, reverse: boolean): boolean {
  const is_later = seq > after.seq || (seq === after.seq && position > after.position)
  return reverse ? !is_later && !(seq === after.seq && position === after.position) : is_later
}
