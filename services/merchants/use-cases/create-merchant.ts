import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { now } from '#lib/platform/time.ts'
import { missing } from '../domain/check.ts'
import { checkName, checkTimezone, type Merchant } from '../domain/merchant.ts'
import type { Registry } from './registry.ts'

/** What the operator says of a new merchant. */
export interface NewMerchant {
  readonly name: string
  readonly timezone: string
  readonly environments: readonly Environment[]
}

/** Adds a merchant under the next number. */
export async function createMerchant(registry: Registry, given: NewMerchant): Promise<Merchant> {
  if (given.environments.length === 0) throw missing('environments')
  const content = {
    name: checkName(given.name),
    timezone: checkTimezone(given.timezone),
    environments: [...new Set(given.environments)],
  }
  const number = await registry.store.nextNumber('merchant')
  const merchant_id = String(number)
  const created_at = now()
  const merchant = { merchant_id, number, ...content, created_at, updated_at: created_at }
  const stored = await registry.store.merchants.insert(merchant)
  await registry.announce(ChangeKind.MERCHANT, merchant_id, merchant_id)
  return stored
}
