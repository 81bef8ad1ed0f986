import type { CollectionSpec } from '#lib/store/store.ts'

/** The collection of refused withdrawals. A `payment_id` is ordered by time, so the key also orders a merchant's list. */
export const WITHDRAWAL_REFUSALS: CollectionSpec = {
  name: 'withdrawal_refusals',
  partition: ['merchant_id'],
  key: ['merchant_id', 'payment_id'],
}
