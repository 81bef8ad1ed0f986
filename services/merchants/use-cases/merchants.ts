import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { checkEnvironmentOf, MERCHANT_SETTINGS, type Merchant } from '../domain/merchant.ts'
import { changedSettings, type GivenSettings, newSettings } from '../domain/settings.ts'
import type { MerchantsDeps } from './deps.ts'

type GivenMerchant = GivenSettings<typeof MERCHANT_SETTINGS>

/** Creates a merchant under the next merchant id. */
export async function createMerchant({ store }: MerchantsDeps, given: GivenMerchant): Promise<Merchant> {
  const settings = newSettings(MERCHANT_SETTINGS, given, undefined)
  const number = await store.issued_ids.issue('merchant')
  return store.merchants.insert({ merchant_id: String(number), number, ...settings })
}

/** Changes the given settings of a merchant. */
export function updateMerchant(
  { store }: MerchantsDeps,
  merchant_id: string,
  given: GivenMerchant,
): Promise<Merchant> {
  return store.merchants.update(merchant_id, () => changedSettings(MERCHANT_SETTINGS, given, undefined))
}

/**
 * The merchant and environment of a new credential, route or endpoint. Throws 1005 and 1003 for the merchant, and 9000 for
 * an environment that the merchant does not have.
 */
export async function scopeOf(
  { store }: MerchantsDeps,
  { merchant_id, environment }: MerchantScope,
): Promise<MerchantScope> {
  checkEnvironmentOf(await store.merchants.get(merchant_id), environment)
  return { merchant_id, environment }
}
