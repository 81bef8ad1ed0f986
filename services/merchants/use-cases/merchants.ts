import type { Environment } from '#lib/contract/environment.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { checkEnvironmentOf, MERCHANT_SETTINGS, type Merchant } from '../domain/merchant.ts'
import {
  changedSettings,
  type GivenSettings,
  newSettings,
  notFound,
  parseNumericId,
} from '../domain/settings.ts'
import type { MerchantsDeps } from './deps.ts'

type GivenMerchant = GivenSettings<typeof MERCHANT_SETTINGS>

/** Creates a merchant under the next merchant id. */
export async function createMerchant({ store }: MerchantsDeps, given: GivenMerchant): Promise<Merchant> {
  const settings = newSettings(MERCHANT_SETTINGS, given, undefined)
  const number = await store.issued_ids.issue('merchant')
  return store.merchants.insert({ merchant_id: String(number), number, ...settings })
}

/** Reads a merchant. Refuses an empty id with 1005 and an unknown one with 1003. */
export async function getMerchant({ store }: MerchantsDeps, merchant_id: string): Promise<Merchant> {
  requiredText(merchant_id, 'merchant_id')
  const merchant = parseNumericId(merchant_id) && (await store.merchants.get(merchant_id))
  if (!merchant) throw notFound(1003, 'merchant_id')
  return merchant
}

/**
 * The merchant and environment of a new credential, route or endpoint. Throws what `getMerchant` throws, and 9000 for an
 * environment that the merchant does not have.
 */
export async function ownerOf(
  deps: MerchantsDeps,
  { merchant_id, environment }: { readonly merchant_id: string; readonly environment: Environment },
): Promise<{ readonly merchant_id: string; readonly environment: Environment }> {
  checkEnvironmentOf(await getMerchant(deps, merchant_id), environment)
  return { merchant_id, environment }
}

/** Changes the given settings of a merchant. */
export async function updateMerchant(
  deps: MerchantsDeps,
  merchant_id: string,
  given: GivenMerchant,
): Promise<Merchant> {
  await getMerchant(deps, merchant_id)
  const changes = changedSettings(MERCHANT_SETTINGS, given, undefined)
  return deps.store.merchants.update(merchant_id, () => changes)
}
