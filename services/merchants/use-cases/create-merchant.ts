import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { checkName, checkTimezone, type Merchant } from '../domain/merchant.ts'
import type { MerchantsDeps } from './deps.ts'

/** The fields of a new merchant. */
export interface NewMerchant {
  readonly name: string
  readonly timezone: string
  readonly environments: readonly Environment[]
}

/** Creates a merchant under the next merchant id. */
export async function createMerchant(deps: MerchantsDeps, input: NewMerchant): Promise<Merchant> {
  if (input.environments.length === 0) throw fieldError(1005, 'environments')
  const content = {
    name: checkName(input.name),
    timezone: checkTimezone(input.timezone),
    environments: [...new Set(input.environments)],
  }
  const number = await deps.store.issued_ids.issue('merchant')
  const merchant_id = String(number)
  const created_at = now()
  const merchant = { merchant_id, number, ...content, created_at, updated_at: created_at }
  const stored = await deps.store.merchants.insert(merchant)
  await deps.announceChange(ChangeKind.MERCHANT, merchant_id, merchant_id)
  return stored
}
