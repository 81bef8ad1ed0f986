import { checkPageSize } from '#lib/patterns/paging/page-size.ts'
import { decodePageToken, encodePageToken } from '#lib/patterns/paging/page-token.ts'
import type { Merchant } from '../domain/merchant.ts'
import type { MerchantsDeps } from './deps.ts'

const POSITION = { number: 'integer' } as const

/** A page of merchants in the order of their ids. `next_page_token` is empty on the last page. */
export interface MerchantPage {
  readonly merchants: readonly Merchant[]
  readonly next_page_token: string
}

/** Reads a page of merchants. A token stays valid, because no merchant is deleted. */
export async function listMerchants(
  { store }: MerchantsDeps,
  page_size: number,
  page_token: string,
): Promise<MerchantPage> {
  const limit = checkPageSize(page_size)
  const after = decodePageToken(page_token, {}, POSITION)?.number ?? 0
  const one_more = await store.merchants.listAfter(after, limit + 1)
  const merchants = one_more.slice(0, limit)
  const last = one_more.length > limit ? merchants.at(-1) : undefined
  return { merchants, next_page_token: last ? encodePageToken({ number: last.number }) : '' }
}
