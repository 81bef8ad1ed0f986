import type { Keyring } from '#lib/base/crypto/keyring.ts'
import type { ChargebackStatus } from '#lib/contract/public-support.ts'
import type { PageRequest } from '#lib/patterns/paging/read-page.ts'
import type { Stored } from '#lib/store/store.ts'
import {
  type CursorPage,
  type CursorRequest,
  listForOperator,
  listResources,
  type OperatorFilter,
  type ResourceFilter,
} from '../../use-cases/list-resources.ts'
import type { Chargeback } from '../domain/chargeback.ts'
import type { ChargebacksDeps } from './open-chargeback.ts'

const KEY = {
  key_field: 'chargeback_id',
  id_field: 'chargeback_id',
  idOf: ({ chargeback_id }: Chargeback) => chargeback_id,
}

/** What the merchant's list of chargebacks need. */
export interface ListChargebacksDeps extends ChargebacksDeps {
  readonly keyring: Keyring
}

/**
 * The merchant's `chargeback.list`: newest first (S6). Throws 9000 for a limit outside 1 to 100, and for a cursor of
 * another list.
 */
export function listChargebacks(
  { chargebacks: collection, keyring }: ListChargebacksDeps,
  filter: ResourceFilter<ChargebackStatus>,
  page: CursorRequest,
): Promise<CursorPage<Stored<Chargeback>>> {
  return listResources({ name: 'chargeback.list', collection, keyring, ...KEY }, filter, page)
}

/** The operator's list of a merchant's chargebacks, newest first. */
export function listChargebacksForOperator(
  { chargebacks: collection }: Pick<ChargebacksDeps, 'chargebacks'>,
  filter: OperatorFilter,
  page: PageRequest,
): Promise<{ readonly items: readonly Stored<Chargeback>[]; readonly next_page_token: string }> {
  return listForOperator({ collection, ...KEY }, filter, page)
}
