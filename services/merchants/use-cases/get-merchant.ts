import { requiredText } from '#lib/contract/proto-fields.ts'
import { notFound } from '../domain/field-checks.ts'
import type { Merchant } from '../domain/merchant.ts'
import { parseNumericId } from '../domain/numeric-id.ts'
import type { MerchantsDeps } from './deps.ts'

/** Reads a merchant. Refuses an empty id with 1005 and an unknown one with 1003. */
export async function getMerchant({ store }: MerchantsDeps, merchant_id: string): Promise<Merchant> {
  requiredText(merchant_id, 'merchant_id')
  const merchant = parseNumericId(merchant_id) && (await store.merchants.get(merchant_id))
  if (!merchant) throw notFound(1003, 'merchant_id')
  return merchant
}
