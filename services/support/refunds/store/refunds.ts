import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import { findOne, keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { TEST_END_INDEX } from '#lib/store/test-end.ts'
import { listIndexes, type ResourceList } from '../../domain/resource-list.ts'
import type { ResourceQuery } from '../../domain/support-resource.ts'
import type { Refund } from '../domain/refund.ts'

/** The list of refunds. */
export const REFUND_LIST: ResourceList = {
  name: 'refund.list',
  id_field: 'refund_id',
  key_field: 'c_id',
  time_field: 'created_at',
  words: { status: REFUND_STATUSES.names },
  restricted: [[], ['status']],
  operator_fields: ['status'],
}

/**
 * The collection of refunds. The merchant's reference is part of the key, because it is unique (S3), and of the partition,
 * so that the refunds of one merchant spread over all servers of a cluster.
 */
export const REFUNDS = {
  name: 'refunds',
  partition: ['merchant_id', 'environment', 'c_id'],
  key: ['merchant_id', 'environment', 'c_id'],
  indexes: {
    by_h_id: { fields: ['merchant_id', 'environment', 'refund_id'] },
    by_id: { fields: ['refund_id'], across_partitions: true },
    by_any_c_id: { fields: ['c_id'], across_partitions: true },
    by_erasable: { fields: ['erasable_since'], where: 'erasable_since', across_partitions: true },
    ...TEST_END_INDEX,
    ...listIndexes(REFUND_LIST),
    ...ACT_INDEX,
    ...EFFECT_INDEXES,
  },
} as const satisfies CollectionSpec

/** Takes the key from a refund. */
export const keyOfRefund = keyOf(REFUNDS)

/**
 * The merchant's refund with this identifier. The read is linearizable: merchants and the changes that payments reports decide
 * by it, and while a database fails over a stale one would deny a refund that exists.
 */
export function findRefundBy(
  refunds: Collection<Refund>,
  { merchant_id, environment, by, id }: ResourceQuery,
) {
  const options = { linearizable: true }
  if (by === 'c_id') return refunds.get({ merchant_id, environment, c_id: id }, options)
  return findOne(refunds, 'by_h_id', [merchant_id, environment, id], options)
}

/** The refund of any merchant with this id. */
export function findRefundById(refunds: Collection<Refund>, refund_id: string) {
  return findOne(refunds, 'by_id', [refund_id])
}
