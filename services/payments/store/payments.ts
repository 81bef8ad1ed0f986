import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import type { Collection, CollectionSpec, Stored } from '#lib/store/store.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'

/**
 * The collection of payments. The merchant's own reference is part of the key and is the idempotency key (P2). It is
 * also part of the partition, so that a busy merchant's payments spread over all servers of a cluster.
 */
export const PAYMENTS: CollectionSpec = {
  name: 'payments',
  partition: ['merchant_id', 'environment', 'c_id'],
  key: ['merchant_id', 'environment', 'c_id'],
  indexes: {
    by_h_id: { fields: ['merchant_id', 'environment', 'h_id'] },
    by_id: { fields: ['ids[]'], across_partitions: true },
    by_created: { fields: ['merchant_id', 'created_at'] },
    ...EFFECT_INDEXES,
  },
}

/** The key of a payment in the store. */
type PaymentKey = Pick<Payment, 'merchant_id' | 'environment' | 'c_id'>

/** Takes the key from a payment or from a request that names one. */
export function keyOfPayment({ merchant_id, environment, c_id }: PaymentKey): {
  [Field in keyof PaymentKey]: string
} {
  return { merchant_id, environment, c_id }
}

/** The merchant's payment with this public id, by a linearizable read (P2). */
export async function findByHId(
  payments: Collection<StoredPayment>,
  merchant_id: string,
  environment: string,
  h_id: string,
): Promise<Stored<StoredPayment> | undefined> {
  const range = { equals: [merchant_id, environment, h_id] }
  const [payment] = await payments.find('by_h_id', range, { limit: 1, linearizable: true })
  return payment
}

/** The payment of any merchant with this `payment_id` or `h_id`. */
export async function findByAnyId(
  payments: Collection<StoredPayment>,
  id: string,
): Promise<Stored<StoredPayment> | undefined> {
  const [payment] = await payments.find('by_id', { equals: [id] }, { limit: 1 })
  return payment
}
