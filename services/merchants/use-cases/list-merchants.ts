import { checkInteger, invalid } from '../domain/field-checks.ts'
import type { Merchant } from '../domain/merchant.ts'
import { parseNumericId } from '../domain/numeric-id.ts'
import type { MerchantsDeps } from './deps.ts'

const PAGE_DEFAULT = 25
const PAGE_MAX = 100

/** A page of merchants in the order of their ids. `next_page_token` is empty on the last page. */
export interface MerchantPage {
  readonly merchants: readonly Merchant[]
  readonly next_page_token: string
}

/** Reads a page of merchants. The token is the last id of the previous page; it stays valid, since none is deleted. */
export async function listMerchants(
  { store }: MerchantsDeps,
  page_size: number,
  page_token: string,
): Promise<MerchantPage> {
  const limit = checkInteger(page_size || PAGE_DEFAULT, 'page_size', 1, PAGE_MAX)
  const after = page_token === '' ? 0 : parseNumericId(page_token)
  if (after === undefined) throw invalid('page_token', 'the next_page_token of the previous page')
  const one_more = await store.merchants.listAfter(after, limit + 1)
  const merchants = one_more.slice(0, limit)
  const last = one_more.length > limit ? merchants.at(-1) : undefined
  return { merchants, next_page_token: last?.merchant_id ?? '' }
}
