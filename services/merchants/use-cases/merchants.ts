import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { checkEnvironmentOf, MERCHANT_SETTINGS, type Merchant } from '../domain/merchant.ts'
import { changedSettings, type GivenSettings, newSettings } from '../domain/settings.ts'
import { createOnce } from './create-once.ts'
import type { MerchantsDeps } from './deps.ts'

type GivenMerchant = GivenSettings<typeof MERCHANT_SETTINGS>

/** Creates a merchant under the next merchant id, once per `operation_id`. */
export function createMerchant(
  { store }: MerchantsDeps,
  operation_id: string,
  given: GivenMerchant,
): Promise<Merchant> {
  // The merchant has no id yet, so the operation is known in the whole registry.
  const creation = { merchant_id: '', operation_id, given }
  return createOnce(store, store.merchants, creation, async () => {
    const settings = newSettings(MERCHANT_SETTINGS, given, undefined)
    return {
      issueId: () => store.issued_ids.issue('merchant').then(String),
      documentOf: (merchant_id) => ({ merchant_id, number: Number(merchant_id), ...settings }),
    }
  })
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
