import { checkInteger, invalid } from '../domain/check.ts'
import type { Merchant } from '../domain/merchant.ts'
import { numberFrom, type Registry } from './registry.ts'

const PAGE_DEFAULT = 25
const PAGE_MAX = 100

/** A page of merchants in the order of their numbers; without a token it is the last one. */
export interface MerchantPage {
  readonly merchants: readonly Merchant[]
  readonly next_page_token: string
}

/** Reads a page. A token is the last number of the page before: merchants are never deleted, so it stays good. */
export async function listMerchants(
  registry: Registry,
  page_size: number,
  page_token: string,
): Promise<MerchantPage> {
  const limit = checkInteger(page_size || PAGE_DEFAULT, 'page_size', 1, PAGE_MAX)
  const after = page_token === '' ? 0 : numberFrom(page_token)
  if (after === undefined) throw invalid('page_token', 'the next_page_token of the page before')
  const found = await registry.store.merchants.after(after, limit + 1)
  const merchants = found.slice(0, limit)
  const last = found.length > limit ? merchants.at(-1) : undefined
  return { merchants, next_page_token: last?.merchant_id ?? '' }
}
