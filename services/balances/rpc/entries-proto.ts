import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type BalanceSchema,
  LedgerAccount,
  type LedgerEntry,
  LedgerEntryKind,
  type LedgerEntrySchema,
  type WithdrawalCountSchema,
} from '#gen/multihub/balances/v1/balance_pb.ts'
import type {
  ExportEntriesRequest,
  ExportEntriesResponseSchema,
  ListEntriesResponseSchema,
  PreviewSettlementResponseSchema,
} from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { csvLine } from '#lib/contract/csv-cell.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { isErrorCode } from '#lib/contract/errors/error-table.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { createdRange } from '#lib/contract/operator-fields.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import { decodePageToken, encodePageToken } from '#lib/patterns/paging/read-page.ts'
import { type Entry, type EntryKind, isListedKind, type RecordedEntry } from '../domain/entry.ts'
import type { AccountName, MerchantAccounts } from '../domain/merchant-accounts.ts'
import type { WithdrawalCount } from '../domain/payout-limits.ts'
import { EXPORT_PART_CHARACTERS } from '../limits.ts'
import type { EntryQuery, StatementEntry } from '../use-cases/list-entries.ts'
import type { SettlementPreview } from '../use-cases/preview-settlement.ts'
import { currencyOf, idOf } from './request-fields.ts'

/** Maps account names to their enum values and back. */
export const ACCOUNTS = createEnumMap<AccountName, LedgerAccount>({
  available: LedgerAccount.AVAILABLE,
  held: LedgerAccount.HELD,
  clearing: LedgerAccount.CLEARING,
  fees: LedgerAccount.FEES,
  chargebacks: LedgerAccount.CHARGEBACKS,
  adjustments: LedgerAccount.ADJUSTMENTS,
})

const KINDS = createEnumMap<EntryKind, LedgerEntryKind>({
  transfer: LedgerEntryKind.TRANSFER,
  hold: LedgerEntryKind.HOLD,
  capture: LedgerEntryKind.CAPTURE,
  release: LedgerEntryKind.RELEASE,
  adjustment: LedgerEntryKind.ADJUSTMENT,
  settlement: LedgerEntryKind.SETTLEMENT,
})

/** Maps an entry for a response. */
export function entryToProto({
  shard,
  seq,
  time,
  entry,
}: RecordedEntry): MessageInitShape<typeof LedgerEntrySchema> {
  return {
    entryId: entry.id,
    kind: KINDS.toProto(entry.kind),
    merchantId: entry.merchant_id,
    debit: ACCOUNTS.toProto(entry.debit),
    credit: ACCOUNTS.toProto(entry.credit),
    amount: { minor: entry.amount, currency: entry.currency },
    paymentId: entry.payment_id ?? '',
    reason: entry.reason,
    refusedCode: entry.refused_code ?? 0,
    createTime: timestampFromDate(time),
    shard,
    sequence: seq,
    availableAfter: entry.available,
    heldAfter: entry.held,
    counted: entry.counted && withdrawalCountToProto(entry.counted),
    settlementPeriod: BigInt(entry.period ?? 0),
  }
}

/** Maps what a settlement would end. */
export function settlementPreviewToProto({
  accounts,
  totals,
}: SettlementPreview): MessageInitShape<typeof PreviewSettlementResponseSchema> {
  const { currency } = accounts
  return {
    settlementPeriod: BigInt(accounts.period + 1),
    balance: balanceToProto(accounts),
    routes: totals.map(({ service_id, period_total }) => ({
      serviceId: String(service_id),
      total: { minor: period_total, currency },
    })),
  }
}

/** An entry as the operator sees it, or `as_merchant` without why the operator adjusted or settled. */
export function shownEntry<E extends RecordedEntry>(recorded: E, as_merchant: boolean): E {
  const { entry } = recorded
  const is_by_operator = entry.kind === 'adjustment' || entry.kind === 'settlement'
  return as_merchant && is_by_operator ? { ...recorded, entry: { ...entry, reason: '' } } : recorded
}

/** Maps an entry that another balances process sent; `undefined` when it has values that this release does not know. */
export function entryFromProto(message: LedgerEntry): RecordedEntry | undefined {
  const { amount, createTime, refusedCode, paymentId } = message
  const kind = KINDS.fromProto(message.kind)
  const debit = ACCOUNTS.fromProto(message.debit)
  const credit = ACCOUNTS.fromProto(message.credit)
  if (!kind || !debit || !credit || !amount || !createTime) return undefined
  if (refusedCode !== 0 && !isErrorCode(refusedCode)) return undefined
  const entry: Entry = {
    id: message.entryId,
    kind,
    merchant_id: message.merchantId,
    currency: amount.currency,
    debit,
    credit,
    amount: amount.minor,
    payment_id: paymentId || undefined,
    reason: message.reason,
    refused_code: refusedCode === 0 ? undefined : refusedCode,
    available: message.availableAfter,
    held: message.heldAfter,
    counted: message.counted && {
      service_id: Number(message.counted.serviceId),
      day: message.counted.day,
      period: Number(message.counted.period),
    },
    period: kind === 'settlement' ? Number(message.settlementPeriod) : undefined,
  }
  return { shard: message.shard, seq: message.sequence, time: timestampDate(createTime), entry }
}

/** Maps the place where a withdrawal is counted. */
export function withdrawalCountToProto({
  service_id,
  day,
  period,
}: WithdrawalCount): MessageInitShape<typeof WithdrawalCountSchema> {
  return { serviceId: String(service_id), day, period: BigInt(period) }
}

/** Maps the balance of one currency for a response. */
export function balanceToProto({
  currency,
  available,
  held,
}: Pick<MerchantAccounts, 'currency' | 'available' | 'held'>): MessageInitShape<typeof BalanceSchema> {
  return { currency, available, held }
}

const POSITION = { seq: 'int64', position: 'integer' } as const

/**
 * Reads the filters and the token of a page. The query asks for one entry more than the page has, which tells whether it is
 * the last one. Throws `PublicError` 1005 for a missing field and 9000 for a wrong one.
 */
export function entryQueryFromProto(
  request: Omit<ExportEntriesRequest, '$typeName'> & { readonly kind?: LedgerEntryKind },
  page_size: number,
  newest_first = false,
): EntryQuery {
  const { paymentId } = request
  const filters = {
    environment: ENVIRONMENTS.optional(request.environment, 'environment') ?? 'test',
    merchant_id: idOf(request.merchantId, 'merchant_id'),
    payment_id: paymentId === '' ? undefined : idOf(paymentId, 'payment_id'),
    currency: request.currency === '' ? undefined : currencyOf(request.currency, 'currency'),
    kind: kindOf(request),
    ...createdRange(request),
    newest_first,
  }
  const after = decodePageToken(request.pageToken, { list: listOf(filters) }, POSITION)
  return { ...filters, after, limit: page_size + 1 }
}

/** Reads the kind. The entries of a payment are few; of a merchant, only some kinds have an index. */
function kindOf({ kind = LedgerEntryKind.UNSPECIFIED, paymentId }: EntryKindFilter): EntryKind | undefined {
  const name = KINDS.optional(kind, 'kind')
  if (name !== undefined && paymentId === '' && !isListedKind(name))
    throw fieldError(9000, 'kind', 'without a payment_id, adjustment or settlement')
  return name
}

interface EntryKindFilter {
  readonly kind?: LedgerEntryKind
  readonly paymentId: string
}

/** Names the list that a token belongs to. Its filters themselves would make the token too long. */
function listOf(filters: Omit<EntryQuery, 'after' | 'limit'>): string {
  return sha256Hex(JSON.stringify(filters)).slice(0, 16)
}

/** Maps a page of entries. `entries` are the result of its query. */
export function entryPageToProto(
  query: EntryQuery,
  entries: readonly StatementEntry[],
): MessageInitShape<typeof ListEntriesResponseSchema> {
  const page = entries.slice(0, query.limit - 1)
  return { entries: page.map(entryToProto), nextPageToken: tokenAfter(query, page, entries) }
}

/** Maps a part of an export: as many entries as fit. `entries` are the result of its query. */
export function exportPartToProto(
  query: EntryQuery,
  entries: readonly StatementEntry[],
): MessageInitShape<typeof ExportEntriesResponseSchema> {
  let csv = query.after === undefined ? CSV_HEADER : ''
  const part: StatementEntry[] = []
  for (const entry of entries.slice(0, query.limit - 1)) {
    if (csv.length > EXPORT_PART_CHARACTERS) break
    csv += entryLine(entry)
    part.push(entry)
  }
  return { csv, nextPageToken: tokenAfter(query, part, entries) }
}

function tokenAfter(
  { after: _, limit: __, ...filters }: EntryQuery,
  page: readonly StatementEntry[],
  entries: readonly StatementEntry[],
): string {
  const last = page.at(-1)
  if (last === undefined || entries.length === page.length) return ''
  return encodePageToken({ list: listOf(filters), seq: last.seq, position: last.position })
}

/** The columns of an export. Amounts and balances are integers in minor units. */
const COLUMNS: Readonly<Record<string, (entry: StatementEntry) => string>> = {
  create_time: ({ time }) => time.toISOString(),
  entry_id: ({ entry }) => entry.id,
  kind: ({ entry }) => entry.kind,
  payment_id: ({ entry }) => entry.payment_id ?? '',
  currency: ({ entry }) => entry.currency,
  debit: ({ entry }) => entry.debit,
  credit: ({ entry }) => entry.credit,
  amount: ({ entry }) => String(entry.amount),
  refused_code: ({ entry }) => String(entry.refused_code ?? ''),
  available_after: ({ entry }) => String(entry.available),
  held_after: ({ entry }) => String(entry.held),
  reason: ({ entry }) => entry.reason,
}

/** The first line of an export: the names of the columns. */
export const CSV_HEADER = csvLine(Object.keys(COLUMNS))

/** One entry as a line of an export. */
export function entryLine(entry: StatementEntry): string {
  return csvLine(Object.values(COLUMNS).map((column) => column(entry)))
}
