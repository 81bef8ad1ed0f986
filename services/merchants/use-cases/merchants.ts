import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import type { Page, PageRequest } from '#lib/patterns/paging/read-page.ts'
import { notFound, parseNumericId } from '../domain/field-checks.ts'
import { checkName, checkTimezone, type Merchant } from '../domain/merchant.ts'
import type { MerchantsDeps } from './deps.ts'

/** The fields of a new merchant. */
interface NewMerchant {
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

/** Reads a merchant. Refuses an empty id with 1005 and an unknown one with 1003. */
export async function getMerchant({ store }: MerchantsDeps, merchant_id: string): Promise<Merchant> {
  requiredText(merchant_id, 'merchant_id')
  const merchant = parseNumericId(merchant_id) && (await store.merchants.get(merchant_id))
  if (!merchant) throw notFound(1003, 'merchant_id')
  return merchant
}

/**
 * Reads a page of merchants in the order of their ids. A token stays valid, because no merchant is deleted. Throws 9000
 * for a wrong page size or token.
 */
export function listMerchants({ store }: MerchantsDeps, request: PageRequest): Promise<Page<Merchant>> {
  return store.merchants.listPage(request)
}

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
