import {
  checkPageSize,
  decodePageToken,
  encodePageToken,
  PAGE_SIZE_MAX,
} from '#lib/patterns/paging/read-page.ts'
import type { ExchangeCollections } from './exchange-recorder.ts'
import {
  type ExchangeFilter,
  filterKey,
  firstIdAt,
  type LostExchanges,
  type StoredExchange,
} from './kept-exchange.ts'

/** Selects a page of exchanges from `created_from` (inclusive) to `created_to` (exclusive), the newest first. */
export interface ExchangeQuery extends ExchangeFilter {
  readonly created_from?: Date | undefined
  readonly created_to?: Date | undefined
  readonly page_size: number
  readonly page_token: string
}

const POSITION = { exchange_id: 'text' } as const

/** Reads the exchanges of a merchant, each from the index of its filter. */
export function createExchangeReads({ exchanges, lost_exchanges }: ExchangeCollections) {
  function find(
    filter: ExchangeFilter,
    after: string | undefined,
    { limit, reverse }: { limit: number; reverse: boolean },
  ) {
    const { merchant_id } = filter
    const key = filterKey(filter)
    const position = after === undefined ? undefined : { merchant_id, exchange_id: after }
    return key === ''
      ? exchanges.find('key', { equals: [merchant_id] }, { limit, reverse, after: position })
      : exchanges.find('by_filter', { equals: [merchant_id, key] }, { limit, reverse, after: position })
  }

  /** The counts of lost exchanges with ids from `from` to before `to`, as far as one read shows them. */
  function findLost(merchant_id: string, from: string | undefined, to?: string) {
    return lost_exchanges.find('key', { equals: [merchant_id], from, to }, { limit: PAGE_SIZE_MAX })
  }

  return {
    /** The exchange of any merchant with this request id. */
    async findByRequestId(request_id: string): Promise<StoredExchange | undefined> {
      const [exchange] = await exchanges.find('by_request', { equals: [request_id] }, { limit: 1 })
      return exchange
    },
    /** Throws 9000 for a wrong page size or token. A page with a token is full, and one more exists. */
    async list(query: ExchangeQuery) {
      const { merchant_id, created_from, created_to, page_size, page_token } = query
      const size = checkPageSize(page_size)
      const token = decodePageToken(page_token, { merchant_id }, POSITION)
      const end = token?.exchange_id ?? (created_to && firstIdAt(created_to.getTime()))
      const beginning = created_from && firstIdAt(created_from.getTime())
      const isInTime = ({ exchange_id }: StoredExchange): boolean =>
        beginning === undefined || exchange_id >= beginning
      const items = (await find(query, end, { limit: size, reverse: true })).filter(isInTime)
      const last = items.length === size ? items.at(-1) : undefined
      const [next] = last ? await find(query, last.exchange_id, { limit: 1, reverse: true }) : []
      const has_more = next !== undefined && isInTime(next)
      const lost = await findLost(merchant_id, has_more ? last?.exchange_id : beginning, end)
      return {
        items,
        next_page_token:
          has_more && last ? encodePageToken({ merchant_id, exchange_id: last.exchange_id }) : '',
        lost: lost.reduce((sum, { count }) => sum + count, 0),
      }
    },
    /** The exchanges and the counts of lost ones after an id, the oldest first. */
    async listNew(
      filter: ExchangeFilter,
      after: string,
      page_size: number,
    ): Promise<{ readonly items: readonly StoredExchange[]; readonly lost: readonly LostExchanges[] }> {
      const limit = checkPageSize(page_size)
      const [items, lost] = await Promise.all([
        find(filter, after, { limit, reverse: false }),
        findLost(filter.merchant_id, after),
      ])
      return { items, lost }
    },
  }
}
