import type { MessageInitShape } from '@bufbuild/protobuf'
import type {
  ListEntriesRequest,
  ListEntriesResponseSchema,
} from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { checkPageSize } from '#lib/patterns/paging/page-size.ts'
import { decodePageToken, encodePageToken } from '#lib/patterns/paging/page-token.ts'
import type { EntryQuery, StatementEntry } from '../use-cases/list-entries.ts'
import { entryToProto } from './entry-proto.ts'
import { idOf } from './request-fields.ts'

const POSITION = { seq: 'int64', position: 'integer' } as const

/**
 * Reads a ListEntries request. The query asks for one entry more than the page, which tells whether it is the last
 * page. Throws `PublicError` 1005 for a missing field and 9000 for a wrong one.
 */
export function entryQueryFromProto(request: ListEntriesRequest): {
  query: EntryQuery
  page_size: number
} {
  const environment = ENVIRONMENTS.optional(request.environment, 'environment') ?? 'test'
  const merchant_id = idOf(request.merchantId, 'merchant_id')
  const page_size = checkPageSize(request.pageSize)
  const payment_id = request.paymentId === '' ? undefined : idOf(request.paymentId, 'payment_id')
  const token = decodePageToken(request.pageToken, { merchant_id }, POSITION)
  const after = token && { seq: token.seq, position: token.position }
  return { query: { environment, merchant_id, payment_id, after, limit: page_size + 1 }, page_size }
}

/** Writes a page of entries. `entries` has one more than `page_size` when there is another page. */
export function entryPageToProto(
  entries: readonly StatementEntry[],
  page_size: number,
): MessageInitShape<typeof ListEntriesResponseSchema> {
  const page = entries.slice(0, page_size)
  const last = entries.length > page_size ? page.at(-1) : undefined
  return {
    entries: page.map(entryToProto),
    nextPageToken: last ? tokenAfter(last) : '',
  }
}

function tokenAfter({ entry: { merchant_id }, seq, position }: StatementEntry): string {
  return encodePageToken({ merchant_id, seq, position })
}
