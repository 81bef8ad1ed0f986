import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { findOne, keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { listIndexes } from '../../use-cases/list-resources.ts'
import type { Chargeback } from '../domain/chargeback.ts'

/** The collection of chargebacks. A merchant's chargebacks spread over all servers of a cluster. */
export const CHARGEBACKS = {
  name: 'chargebacks',
  partition: ['merchant_id', 'environment', 'chargeback_id'],
  key: ['merchant_id', 'environment', 'chargeback_id'],
  indexes: {
    by_id: { fields: ['chargeback_id'], across_partitions: true },
    ...listIndexes('chargeback_id'),
    ...EFFECT_INDEXES,
  },
} as const satisfies CollectionSpec

/** Takes the key from a chargeback or from a request that names one. */
export const keyOfChargeback = keyOf(CHARGEBACKS)

/** The chargeback of any merchant with this id. */
export function findChargebackById(chargebacks: Collection<Chargeback>, chargeback_id: string) {
  return findOne(chargebacks, 'by_id', [chargeback_id])
}
