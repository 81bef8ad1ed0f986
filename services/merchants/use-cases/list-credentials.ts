import type { Credential } from '../domain/credential.ts'
import type { MerchantsDeps } from './deps.ts'
import { getMerchant } from './get-merchant.ts'

/** Lists the credentials of a merchant, in the order of their ids. Refuses an unknown merchant with 1003. */
export async function listCredentials(
  deps: MerchantsDeps,
  merchant_id: string,
): Promise<readonly Credential[]> {
  await getMerchant(deps, merchant_id)
  return await deps.store.credentials.listByMerchant(merchant_id)
}
