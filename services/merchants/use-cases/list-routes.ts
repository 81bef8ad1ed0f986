import type { Route } from '../domain/route.ts'
import type { MerchantsDeps } from './deps.ts'
import { getMerchant } from './get-merchant.ts'

/** Lists the routes of a merchant, in the order of their ids. Refuses an unknown merchant with 1003. */
export async function listRoutes(deps: MerchantsDeps, merchant_id: string): Promise<readonly Route[]> {
  await getMerchant(deps, merchant_id)
  return await deps.store.routes.listByMerchant(merchant_id)
}
