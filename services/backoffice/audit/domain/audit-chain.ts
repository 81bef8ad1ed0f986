import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { BIGINT, type FieldsOf, INTEGER, listOf, TEXT, TIME } from '#lib/base/stored-fields.ts'
import {
  type AuditAddition,
  type AuditRecord,
  type AuditTarget,
  recordId,
  STORED_RECORD,
} from './audit-record.ts'

/** The one chain of the audit trail. It is the partition of its documents. */
export const CHAIN = 'audit'

/** The format of the batches of this release. */
const FORMAT = 1

/**
 * Records that were committed together. The random `token` tells which process inserted the batch. `hash` covers every other
 * field and, through `previous_hash`, the whole audit trail before it.
 */
export interface AuditBatch {
  readonly chain: string
  readonly seq: bigint
  readonly time: Date
  readonly format: number
  readonly token: string
  readonly records: readonly AuditRecord[]
  readonly previous_hash: string
  readonly hash: string
}

/** How the fields of a stored batch are checked. */
export const STORED_BATCH: FieldsOf<AuditBatch> = {
  chain: TEXT,
  seq: BIGINT,
  time: TIME,
  format: INTEGER,
  token: TEXT,
  records: listOf(STORED_RECORD),
  previous_hash: TEXT,
  hash: TEXT,
}

/** The end of the chain: the batch that the next one follows. `key_id` names the key that signed it. */
export interface AuditHead {
  readonly seq: bigint
  readonly time_ms: number
  readonly hash: string
  readonly key_id: string
}

/** The head of an audit trail without records. */
export const EMPTY_HEAD: AuditHead = { seq: 0n, time_ms: 0, hash: '', key_id: '' }

/** Makes the batch that follows a head. Its time never goes back, so that a range of times is a range of batches. */
export function sealBatch(
  { seq, time_ms, hash: previous_hash }: AuditHead,
  now_ms: number,
  records: readonly AuditRecord[],
  token: string,
): AuditBatch {
  const time = new Date(Math.max(Math.floor(now_ms), time_ms))
  const content = { chain: CHAIN, seq: seq + 1n, time, format: FORMAT, token, records, previous_hash }
  return { ...content, hash: hashOf(content) }
}

/** What the signature of a batch covers. */
export function signedHead({ seq, hash }: Pick<AuditBatch, 'seq' | 'hash'>): string {
  return `audit ${seq} ${hash}`
}

/** Whether a batch has the content that it was hashed with. */
export function isUnaltered(batch: AuditBatch): boolean {
  return batch.format === FORMAT && batch.hash === hashOf(batch)
}

/** Whether a batch directly follows a head. */
export function follows({ seq, hash, time_ms }: AuditHead, batch: AuditBatch): boolean {
  return batch.seq === seq + 1n && batch.previous_hash === hash && batch.time.getTime() >= time_ms
}

function hashOf({
  chain,
  seq,
  time,
  format,
  token,
  records,
  previous_hash,
}: Omit<AuditBatch, 'hash'>): string {
  const first = JSON.stringify([format, chain, String(seq), time.getTime(), token, previous_hash])
  return sha256Hex([first, ...records.map((one) => JSON.stringify(STORED_RECORD.toJson(one)))].join('\n'))
}

/** Selects entries: each field that is present must be equal. A target may be named by its kind alone. */
export interface AuditFilter {
  readonly principal_id?: string | undefined
  readonly rpc?: string | undefined
  readonly merchant_id?: string | undefined
  readonly target_kind?: string | undefined
  /** Only with `target_kind`. */
  readonly target_id?: string | undefined
}

/** The key of a filter in the index of batches; `undefined` when it selects everything. */
export function filterKey(filter: AuditFilter): string | undefined {
  const { principal_id, rpc, merchant_id, target_kind, target_id } = filter
  const parts = [principal_id, rpc, merchant_id, target_kind, target_id]
  if (parts.every((part) => part === undefined)) return undefined
  // Hashed, so that the key is short and no text of a caller looks like two.
  return sha256Hex(JSON.stringify(parts.map((part) => part ?? null))).slice(0, 32)
}

/** What filters look at. */
interface FilteredEntry {
  readonly principal_id: string
  readonly rpc: string
  readonly merchant_id?: string | undefined
  readonly targets: readonly AuditTarget[]
}

/** Whether an entry is one of a filter's. */
export function matchesFilter(filter: AuditFilter, entry: FilteredEntry): boolean {
  const { principal_id, rpc, merchant_id, target_kind, target_id } = filter
  const isTarget = ({ kind, id }: AuditTarget): boolean =>
    kind === target_kind && (target_id === undefined || id === target_id)
  return (
    (principal_id === undefined || entry.principal_id === principal_id) &&
    (rpc === undefined || entry.rpc === rpc) &&
    (merchant_id === undefined || entry.merchant_id === merchant_id) &&
    (target_kind === undefined || entry.targets.some(isTarget))
  )
}

/** Whether a filter selects an entry by what its outcome added. The filter may select the intent too. */
export function matchesAddition(filter: AuditFilter, added: AuditAddition): boolean {
  return isOfAddition(filter, added) && matchesFilter(filter, completed(added))
}

function isOfAddition({ target_kind, merchant_id }: AuditFilter, added: AuditAddition): boolean {
  return target_kind !== undefined || (merchant_id !== undefined && added.merchant_id === undefined)
}

/** An act that had no merchant has the one that it created. */
function completed(added: AuditAddition): AuditAddition {
  return { ...added, merchant_id: merchantOf(added) }
}

/** The merchant of an act, as far as the outcome or the intent has it. */
export function merchantOf({ merchant_id, targets }: AuditAddition): string | undefined {
  return merchant_id ?? targets.find(({ kind }) => kind === 'merchant')?.id
}

/**
 * The lists of a batch that are indexed: the ids of its records, and a key for each filter that selects one of its intents, or what an
 * outcome added. They follow from the records, so the hash does not cover them.
 */
export function indexedLists(records: readonly AuditRecord[]): {
  readonly record_ids: readonly string[]
  readonly filter_keys: readonly string[]
} {
  const filter_keys = new Set<string>()
  for (const filter of records.flatMap(filtersOfRecord)) {
    const key = filterKey(filter)
    if (key !== undefined) filter_keys.add(key)
  }
  return { record_ids: records.map(recordId), filter_keys: [...filter_keys] }
}

function filtersOfRecord(one: AuditRecord): AuditFilter[] {
  if (one.kind === 'intent') return filtersOf(one)
  const { added } = one
  return added === undefined
    ? []
    : filtersOf(completed(added)).filter((filter) => isOfAddition(filter, added))
}

/** Every filter that selects an entry: with or without its principal, RPC and merchant, and with each target or none. */
function filtersOf({ principal_id, rpc, merchant_id, targets }: FilteredEntry): AuditFilter[] {
  const of_target = targets.flatMap(({ kind, id }): AuditFilter[] => [
    { target_kind: kind },
    { target_kind: kind, target_id: id },
  ])
  const combine = (filters: AuditFilter[], part: AuditFilter): AuditFilter[] => [
    ...filters,
    ...filters.map((filter) => ({ ...filter, ...part })),
  ]
  const parts = [{ principal_id }, { rpc }, ...(merchant_id === undefined ? [] : [{ merchant_id }])]
  return parts.reduce<AuditFilter[]>(combine, [{}, ...of_target])
}
