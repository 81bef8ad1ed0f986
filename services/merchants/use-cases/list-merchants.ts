import type { Page, PageRequest } from '#lib/patterns/paging/read-page.ts'
import type { Merchant } from '../domain/merchant.ts'
import type { MerchantsDeps } from './deps.ts'

/**
 * Reads a page of merchants in the order of their ids. A token stays valid, because no merchant is deleted. Throws 9000
 * for a wrong page size or token.
 */
export function listMerchants({ store }: MerchantsDeps, request: PageRequest): Promise<Page<Merchant>> {
  return store.merchants.listPage(request)
}
