import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { notFound } from '../domain/check.ts'
import { checkName, checkTimezone, type Merchant } from '../domain/merchant.ts'
import type { NewMerchant } from './create-merchant.ts'
import { type Registry, requireMerchant } from './registry.ts'

/**
 * Changes what is given of a merchant. An environment that is taken away stops its credentials at once and leaves
 * everything else as it is; given back, they work again.
 */
export async function updateMerchant(
  registry: Registry,
  merchant_id: string,
  given: Partial<NewMerchant>,
): Promise<Merchant> {
  await requireMerchant(registry, merchant_id)
  const changes = {
    ...(given.name !== undefined && { name: checkName(given.name) }),
    ...(given.timezone !== undefined && { timezone: checkTimezone(given.timezone) }),
    ...(given.environments && { environments: [...new Set(given.environments)] }),
  }
  const merchant = await registry.store.merchants.change(merchant_id, () => changes)
  if (!merchant) throw notFound(1003, 'merchant_id')
  await registry.announce(ChangeKind.MERCHANT, merchant_id, merchant_id)
  return merchant
}
