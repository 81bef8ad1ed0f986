import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import type { Chargeback } from '../domain/chargeback.ts'
import { findChargebackById, keyOfChargeback } from '../store/chargebacks.ts'

/** Finds a merchant's chargeback. Throws 12001, also for a chargeback of another merchant or environment. */
export async function findChargeback(
  chargebacks: Collection<Chargeback>,
  query: MerchantScope & Pick<Chargeback, 'chargeback_id'>,
): Promise<Stored<Chargeback>> {
  return existing(await chargebacks.get(keyOfChargeback(query)))
}

/** Finds a chargeback of any merchant, for the operator. Throws 12001 when there is none. */
export async function getChargeback(
  chargebacks: Collection<Chargeback>,
  chargeback_id: string,
): Promise<Stored<Chargeback>> {
  return existing(await findChargebackById(chargebacks, chargeback_id))
}

function existing(chargeback: Stored<Chargeback> | undefined): Stored<Chargeback> {
  if (!chargeback) throw new PublicError(12001)
  return chargeback
}
