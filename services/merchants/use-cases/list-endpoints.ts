import type { Endpoint } from '../domain/endpoint.ts'
import type { MerchantsDeps } from './deps.ts'
import { getMerchant } from './get-merchant.ts'

/** Lists the endpoints of a merchant, in the order of creation. Refuses an unknown merchant with 1003. */
export async function listEndpoints(deps: MerchantsDeps, merchant_id: string): Promise<readonly Endpoint[]> {
  await getMerchant(deps, merchant_id)
  return await deps.store.endpoints.listByMerchant(merchant_id)
}
