import type { MessageInitShape } from '@bufbuild/protobuf'
import type {
  ExportEntriesRequest,
  ExportEntriesResponseSchema,
  ListEntriesRequest,
  ListEntriesResponseSchema,
} from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { createdRange } from '#lib/contract/operator-fields.ts'
import { checkPageSize } from '#lib/patterns/paging/page-size.ts'
import { decodePageToken, encodePageToken } from '#lib/patterns/paging/page-token.ts'
import { EXPORT_PART_CHARACTERS, EXPORT_PART_ENTRIES_MAX } from '../limits.ts'
import type { EntryQuery, StatementEntry } from '../use-cases/list-entries.ts'
import { CSV_HEADER, csvLine } from './entry-csv.ts'
import { entryToProto } from './entry-proto.ts'
import { currencyOf, idOf } from './request-fields.ts'

const POSITION = { seq: 'int64', position: 'integer' } as const

/** A page to read: the query asks for one entry more than the page has, which tells whether it is the last one. */
export interface EntryPage {
  readonly query: EntryQuery
  readonly page_size: number
}

// Both readers throw `PublicError` 1005 for a missing field and 9000 for a wrong one.

/** Reads a ListEntries request. */
export function entryPageFromProto(request: ListEntriesRequest): EntryPage {
  const page_size = checkPageSize(request.pageSize)
  return { query: queryOf(request, request.newestFirst, page_size), page_size }
}

/** Reads an ExportEntries request. */
export function exportPartFromProto(request: ExportEntriesRequest): EntryPage {
  const page_size = EXPORT_PART_ENTRIES_MAX
  return { query: queryOf(request, false, page_size), page_size }
}

type Filters = Omit<ExportEntriesRequest, '$typeName'>

function queryOf(request: Filters, newest_first: boolean, page_size: number): EntryQuery {
  const { paymentId } = request
  const filters = {
    environment: ENVIRONMENTS.optional(request.environment, 'environment') ?? 'test',
    merchant_id: idOf(request.merchantId, 'merchant_id'),
    payment_id: paymentId === '' ? undefined : idOf(paymentId, 'payment_id'),
    currency: request.currency === '' ? undefined : currencyOf(request.currency, 'currency'),
    ...createdRange(request),
    newest_first,
  }
  const after = decodePageToken(request.pageToken, { list: listOf(filters) }, POSITION)
  return { ...filters, after, limit: page_size + 1 }
}

/** Names the list that a token belongs to. Its filters themselves would make the token too long. */
function listOf(filters: Omit<EntryQuery, 'after' | 'limit'>): string {
  return sha256Hex(JSON.stringify(filters)).slice(0, 16)
}

/** Maps a page of entries. `entries` are those of its query. */
export function entryPageToProto(
  { query, page_size }: EntryPage,
  entries: readonly StatementEntry[],
): MessageInitShape<typeof ListEntriesResponseSchema> {
  const page = entries.slice(0, page_size)
  return { entries: page.map(entryToProto), nextPageToken: tokenAfter(query, page, entries) }
}

/** Maps a part of an export: as many of the entries as fit. `entries` are those of its query. */
export function exportPartToProto(
  { query, page_size }: EntryPage,
  entries: readonly StatementEntry[],
): MessageInitShape<typeof ExportEntriesResponseSchema> {
  let csv = query.after === undefined ? CSV_HEADER : ''
  const part: StatementEntry[] = []
  for (const entry of entries.slice(0, page_size)) {
    if (csv.length > EXPORT_PART_CHARACTERS) break
    csv += csvLine(entry)
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
