import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { notFound } from '../domain/field-checks.ts'
import { checkName, checkTimezone, type Merchant } from '../domain/merchant.ts'
import type { NewMerchant } from './create-merchant.ts'
import type { MerchantsDeps } from './deps.ts'
import { getMerchant } from './get-merchant.ts'

/**
 * Changes the given fields of a merchant. Removing an environment disables its credentials at once and keeps their
 * settings; adding it again enables them.
 */
export async function updateMerchant(
  deps: MerchantsDeps,
  merchant_id: string,
  input: Partial<NewMerchant>,
): Promise<Merchant> {
  await getMerchant(deps, merchant_id)
  const changes = {
    ...(input.name !== undefined && { name: checkName(input.name) }),
    ...(input.timezone !== undefined && { timezone: checkTimezone(input.timezone) }),
    ...(input.environments && { environments: [...new Set(input.environments)] }),
  }
  const merchant = await deps.store.merchants.update(merchant_id, () => changes)
  if (!merchant) throw notFound(1003, 'merchant_id')
  await deps.announceChange(ChangeKind.MERCHANT, merchant_id, merchant_id)
  return merchant
}
