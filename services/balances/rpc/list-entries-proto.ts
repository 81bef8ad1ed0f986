import type { MessageInitShape } from '@bufbuild/protobuf'
import type {
  ListEntriesRequest,
  ListEntriesResponseSchema,
} from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { isAmount } from '../domain/command.ts'
import { type EntryDocument, recordedEntryOf } from '../store/entries.ts'
import type { MerchantEntryQuery } from '../use-cases/list-entries.ts'
import { entryToProto } from './entry-proto.ts'
import { idOf } from './request-fields.ts'

const PAGE_SIZE = 25
const PAGE_SIZE_MAX = 100

/** `seq` and `position` of the last entry of a page. */
const PAGE_TOKEN = /^([1-9][0-9]{0,18})\.([0-9]{1,3})$/

/**
 * Reads a ListEntries request. The query asks for one entry more than the page, which tells whether it is the last
 * page. Throws `PublicError` 1005 for a missing field and 9000 for a wrong one.
 */
export function entryQueryFromProto(request: ListEntriesRequest): {
  query: MerchantEntryQuery
  page_size: number
} {
  const environment = ENVIRONMENTS.optional(request.environment, 'environment') ?? 'test'
  const merchant_id = idOf(request.merchantId, 'merchant_id')
  const { pageSize, pageToken, paymentId } = request
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX) throw fieldError(9000, 'page_size')
  const page_size = pageSize === 0 ? PAGE_SIZE : pageSize
  const payment_id = paymentId === '' ? undefined : idOf(paymentId, 'payment_id')
  const after = pageToken === '' ? {} : { after: positionOf(pageToken) }
  return { query: { environment, merchant_id, payment_id, ...after, limit: page_size + 1 }, page_size }
}

/** Writes a page of entries. `entries` has one more than `page_size` when there is another page. */
export function entryPageToProto(
  entries: readonly EntryDocument[],
  page_size: number,
): MessageInitShape<typeof ListEntriesResponseSchema> {
  const page = entries.slice(0, page_size)
  const last = entries.length > page_size ? page.at(-1) : undefined
  return {
    entries: page.map((document) => entryToProto(recordedEntryOf(document))),
    nextPageToken: last ? `${last.seq}.${last.position}` : '',
  }
}

function positionOf(token: string): { seq: bigint; position: number } {
  const [, seq, position] = PAGE_TOKEN.exec(token) ?? []
  if (seq === undefined || position === undefined || !isAmount(BigInt(seq)))
    throw fieldError(9000, 'page_token')
  return { seq: BigInt(seq), position: Number(position) }
}
