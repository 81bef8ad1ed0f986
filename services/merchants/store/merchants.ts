import type { Store } from '#lib/platform/store/store.ts'
import type { Merchant } from '../domain/merchant.ts'
import { openRegistryCollection, type RegistryCollection } from './registry-collection.ts'

/** The collection of merchants. */
export interface MerchantCollection extends RegistryCollection<Merchant, string> {
  /** Merchants whose number is above `number`, in ascending order. */
  listAfter(number: number, limit: number): Promise<Merchant[]>
}

/** Opens the collection of merchants, keyed by `merchant_id` and listed by number. */
export async function openMerchants(store: Store): Promise<MerchantCollection> {
  const opened = await openRegistryCollection<Merchant, string>(store, 'merchants', 'merchant_id', ['number'])
  return {
    ...opened.operations,
    listAfter: (number, limit) => opened.collection.find('in_order', { from: number + 1 }, { limit }),
  }
}
