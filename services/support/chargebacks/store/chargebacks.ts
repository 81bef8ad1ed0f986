import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import type { MerchantScope } from '../../domain/support-resource.ts'
import { listIndexes } from '../../use-cases/list-resources.ts'
import type { Chargeback } from '../domain/chargeback.ts'

/** The collection of chargebacks. A merchant's chargebacks spread over all servers of a cluster. */
export const CHARGEBACKS: CollectionSpec = {
  name: 'chargebacks',
  partition: ['merchant_id', 'environment', 'chargeback_id'],
  key: ['merchant_id', 'environment', 'chargeback_id'],
  indexes: {
    by_id: { fields: ['chargeback_id'], across_partitions: true },
    ...listIndexes('chargeback_id'),
    ...EFFECT_INDEXES,
  },
}

/** The key of a chargeback in the store. */
type ChargebackKey = MerchantScope & Pick<Chargeback, 'chargeback_id'>

/** Takes the key from a chargeback or from a request that names one. */
export function keyOfChargeback({ merchant_id, environment, chargeback_id }: ChargebackKey): {
  [Field in keyof ChargebackKey]: string
} {
  return { merchant_id, environment, chargeback_id }
}

/** The chargeback of any merchant with this id. */
export async function findChargebackById(
  chargebacks: Collection<Chargeback>,
  chargeback_id: string,
): Promise<Stored<Chargeback> | undefined> {
  const [chargeback] = await chargebacks.find('by_id', { equals: [chargeback_id] }, { limit: 1 })
  return chargeback
}
