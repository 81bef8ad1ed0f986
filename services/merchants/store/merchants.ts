import { type Page, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import type { Store } from '#lib/store/store.ts'
import type { Merchant } from '../domain/merchant.ts'
import { openRegistryCollection, type RegistryCollection, registrySpec } from './registry-collection.ts'

/** The collection of merchants. */
export interface MerchantCollection extends RegistryCollection<Merchant, string> {
  /** A page of all merchants, in the order of their numbers. Throws 9000 for a wrong page size or token. */
  listPage(request: PageRequest): Promise<Page<Merchant>>
}

/** Opens the collection of merchants, keyed by `merchant_id` and listed by number. */
export async function openMerchants(store: Store): Promise<MerchantCollection> {
  const { collection, operations } = await openRegistryCollection<Merchant, string>(
    store,
    registrySpec('merchants', 'merchant_id', ['number']),
  )
  const position = { number: 'integer', merchant_id: 'text' } as const
  const list = { collection, index: 'in_order', range: {}, token_scope: {}, position }
  return { ...operations, listPage: (request) => readPage(list, request) }
}
