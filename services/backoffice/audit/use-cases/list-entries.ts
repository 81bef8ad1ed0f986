import {
  checkPageSize,
  decodePageToken,
  encodePageToken,
  type PageRequest,
} from '#lib/patterns/paging/read-page.ts'
import {
  type AuditFilter,
  filterKey,
  matchesAddition,
  matchesFilter,
  merchantOf,
} from '../domain/audit-chain.ts'
import type {
  AuditIntent,
  AuditOutcome,
  IntentRecord,
  OutcomeRecord,
  RecordName,
} from '../domain/audit-record.ts'
import type { AuditLog, BatchRange, ReadBatch } from '../store/audit-log.ts'

/** One act: its intent, joined with its outcome when there is one. */
export interface AuditEntry extends AuditIntent, Partial<AuditOutcome> {
  readonly audit_id: string
  /** When the intent was stored. */
  readonly time: Date
  /** Whether its batch is not as a holder of the keys wrote it, so that nothing of the entry can be relied on. */
  readonly is_damaged: boolean
}

/** Selects a page of entries with times from `created_from` (inclusive) to `created_to` (exclusive), the newest first. */
export interface AuditQuery extends AuditFilter, PageRequest {
  readonly created_from?: Date | undefined
  readonly created_to?: Date | undefined
}

/** Batches in one read, and outcomes that are looked up at a time. */
const BATCHES_PER_READ = 32
const LOOKUPS_AT_A_TIME = 32

const SCOPE = { list: 'audit' } as const
const POSITION = { seq: 'int64', position: 'integer' } as const

interface Position {
  readonly seq: bigint
  readonly position: number
}

/**
 * Reads a page of entries from the index of its filter (O4). Only the last page has an empty token. Throws 9000 for a page
 * size outside its limits, and for a page token of another list. The door binds tokens to callers and filters.
 */
export async function listEntries(
  log: AuditLog,
  query: AuditQuery,
): Promise<{ readonly entries: readonly AuditEntry[]; readonly next_page_token: string }> {
  const { page_size, page_token, created_from: _from, created_to: _to, ...filter } = query
  const size = checkPageSize(page_size)
  const after = decodePageToken(page_token, SCOPE, POSITION)
  // One more than the page shows whether there is a next page.
  const found = await readIntents(log, filter, await rangeOf(log, query, after), after, size + 1)
  const shown = found.slice(0, size)
  const last = found.length > size ? shown.at(-1) : undefined
  return {
    entries: await withOutcomes(log, shown),
    next_page_token:
      last === undefined ? '' : encodePageToken({ ...SCOPE, seq: last.batch.seq, position: last.position }),
  }
}

/** Reads one entry, whatever its age, from the index of the records; `undefined` for an id that no act has (O4). */
export async function getEntry(log: AuditLog, audit_id: string): Promise<AuditEntry | undefined> {
  const found = await findIntent(log, audit_id)
  return found && (await withOutcome(log, { ...found, batch: found.begun }))
}

/** An intent with its batch. */
interface StoredIntent {
  readonly intent: IntentRecord
  readonly begun: ReadBatch
}

/** An entry, at the place of its intent or of the outcome that added what the filter selects. */
interface FoundIntent extends StoredIntent {
  readonly batch: ReadBatch
  readonly position: number
}

async function rangeOf(
  log: AuditLog,
  { created_from, created_to }: AuditQuery,
  after: Position | undefined,
): Promise<BatchRange | undefined> {
  const first = created_from === undefined ? 1n : await log.firstSequenceFrom(created_from)
  if (first === undefined) return undefined
  if (after !== undefined) return { first, last: after.seq }
  return { first, last: created_to && (await log.lastSequenceBefore(created_to)) }
}

async function readIntents(
  log: AuditLog,
  filter: AuditFilter,
  range: BatchRange | undefined,
  after: Position | undefined,
  count: number,
): Promise<FoundIntent[]> {
  const key = filterKey(filter)
  const found: FoundIntent[] = []
  let rest = range
  while (rest !== undefined && found.length < count) {
    const batches = await log.listNewest(key, rest, BATCHES_PER_READ)
    for (const batch of batches) found.push(...(await intentsOf(log, batch, filter, after)))
    const end = batches.at(-1)
    rest =
      end === undefined || batches.length < BATCHES_PER_READ ? undefined : { ...rest, last: end.seq - 1n }
  }
  return found.slice(0, count)
}

/** The acts of a batch that a filter selects, the newest first, without the ones of earlier pages. */
async function intentsOf(
  log: AuditLog,
  batch: ReadBatch,
  filter: AuditFilter,
  after: Position | undefined,
): Promise<FoundIntent[]> {
  const found: FoundIntent[] = []
  for (const [position, one] of [...batch.records.entries()].reverse()) {
    if (after?.seq === batch.seq && position >= after.position) continue
    if (one.kind !== 'intent') {
      const intent = await findByAddition(log, one, filter)
      if (intent !== undefined) found.push({ batch, position, ...intent })
    } else if (matchesFilter(filter, one)) found.push({ batch, position, intent: one, begun: batch })
  }
  return found
}

/** The intent of an outcome that added what a filter selects, unless the list has the intent itself or another outcome of it. */
async function findByAddition(
  log: AuditLog,
  { kind, audit_id, added }: OutcomeRecord,
  filter: AuditFilter,
): Promise<StoredIntent | undefined> {
  if (added === undefined || !matchesAddition(filter, added)) return undefined
  const found = await findIntent(log, audit_id)
  if (found === undefined || matchesFilter(filter, found.intent)) return undefined
  if (kind === 'completion') {
    const reported = await findOutcome(log, { kind: 'outcome', audit_id })
    if (reported?.added !== undefined && matchesAddition(filter, reported.added)) return undefined
  }
  return found
}

async function findIntent(log: AuditLog, audit_id: string): Promise<StoredIntent | undefined> {
  const found = await log.findWithBatch({ kind: 'intent', audit_id })
  return found?.record.kind === 'intent' ? { intent: found.record, begun: found.batch } : undefined
}

async function withOutcomes(log: AuditLog, found: readonly FoundIntent[]): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  for (let from = 0; from < found.length; from += LOOKUPS_AT_A_TIME) {
    const some = found.slice(from, from + LOOKUPS_AT_A_TIME)
    entries.push(...(await Promise.all(some.map((one) => withOutcome(log, one)))))
  }
  return entries
}

/** What the acting process reported counts before what another one concluded, unless it did not know. */
async function withOutcome(
  log: AuditLog,
  { batch, intent, begun }: Omit<FoundIntent, 'position'>,
): Promise<AuditEntry> {
  const { kind: _kind, ...fields } = intent
  const { audit_id } = fields
  const reported = await findOutcome(log, { kind: 'outcome', audit_id })
  const completed = (outcome: 'pending_approval' | 'done' | 'unknown') =>
    findOutcome(log, { kind: 'completion', audit_id, outcome })
  const is_known = reported !== undefined && reported.outcome !== 'unknown'
  const concluded = is_known
    ? undefined
    : ((await completed('done')) ?? (await completed('pending_approval')))
  const outcome = concluded ?? reported ?? (await completed('unknown'))
  const is_sound = batch.is_sound && begun.is_sound && outcome?.is_sound !== false
  const entry = { ...fields, time: begun.time, is_damaged: !is_sound }
  if (outcome === undefined) return entry
  const { outcome: name, error_code, before, after, approval_id = entry.approval_id, added } = outcome
  return {
    ...entry,
    ...(added && { merchant_id: merchantOf(added), targets: [...entry.targets, ...added.targets] }),
    outcome: name,
    error_code,
    before,
    after,
    approval_id,
  }
}

async function findOutcome(
  log: AuditLog,
  wanted: RecordName,
): Promise<(OutcomeRecord & Pick<ReadBatch, 'is_sound'>) | undefined> {
  const found = await log.findWithBatch(wanted)
  if (found === undefined || found.record.kind === 'intent') return undefined
  return { ...found.record, is_sound: found.batch.is_sound }
}
