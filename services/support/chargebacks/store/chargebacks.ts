import { CHARGEBACK_STATUSES } from '#lib/contract/public-support.ts'
import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import { findOne, keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { TEST_END_INDEX } from '#lib/store/test-end.ts'
import { listIndexes, type ResourceList } from '../../domain/resource-list.ts'
import type { Chargeback } from '../domain/chargeback.ts'

/** The list of chargebacks. */
export const CHARGEBACK_LIST = {
  name: 'chargeback.list',
  id_field: 'chargeback_id',
  key_field: 'chargeback_id',
  time_field: 'created_at',
  words: { status: CHARGEBACK_STATUSES.names },
  restricted: [[], ['status']],
  operator_fields: ['status'],
  deadlines: { field: 'deadline_at', statuses: ['open', 'under_review'] },
} as const satisfies ResourceList

/** The collection of chargebacks. A merchant's chargebacks spread over all servers of a cluster. */
export const CHARGEBACKS = {
  name: 'chargebacks',
  partition: ['merchant_id', 'environment', 'chargeback_id'],
  key: ['merchant_id', 'environment', 'chargeback_id'],
  indexes: {
    by_id: { fields: ['chargeback_id'], across_partitions: true },
    by_erasable: { fields: ['erasable_since'], where: 'erasable_since', across_partitions: true },
    ...TEST_END_INDEX,
    ...listIndexes(CHARGEBACK_LIST),
    ...ACT_INDEX,
    ...EFFECT_INDEXES,
  },
} as const satisfies CollectionSpec

/** Takes the key from a chargeback or from a request that names one. */
export const keyOfChargeback = keyOf(CHARGEBACKS)

/** The chargeback of any merchant with this id. */
export function findChargebackById(chargebacks: Collection<Chargeback>, chargeback_id: string) {
  return findOne(chargebacks, 'by_id', [chargeback_id])
}
