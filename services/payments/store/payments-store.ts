import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from '#lib/patterns/idempotency/idempotency.ts'
import type { Collection, Store } from '#lib/platform/store/port.ts'
import type { Payment } from '../domain/payment.ts'
import type { Anomaly } from '../effects/record-anomaly.ts'
import type { Instance } from '../numeric-id-lease.ts'

/** The payments service's collections. */
export interface PaymentsStore {
  readonly payments: Collection<Payment>
  readonly anomalies: Collection<Anomaly>
  readonly instances: Collection<Instance>
  /** What merchants asked for under an operation_id. */
  readonly operations: Collection<IdempotencyRecord>
}

/** The identity of a payment: the merchant's own reference is its idempotency key (P2). */
export interface PaymentKey {
  readonly merchant_id: string
  readonly environment: string
  readonly c_id: string
}

/** Opens the collections. A busy merchant's payments spread over a cluster, because its references do. */
export async function openPaymentsStore(store: Store): Promise<PaymentsStore> {
  const payments = await store.collection<Payment>({
    name: 'payments',
    partition: ['merchant_id', 'environment', 'c_id'],
    key: ['merchant_id', 'environment', 'c_id'],
    indexes: {
      by_h_id: { fields: ['merchant_id', 'environment', 'h_id'] },
      by_id: { fields: ['ids[]'], across: true },
      by_created: { fields: ['merchant_id', 'created_at'] },
      ...EFFECT_INDEXES,
    },
  })
  const anomalies = await store.collection<Anomaly>({
    name: 'anomalies',
    partition: ['merchant_id'],
    key: ['merchant_id', 'anomaly_id'],
    indexes: { by_created: { fields: ['created_at'], across: true } },
  })
  const instances = await store.collection<Instance>({
    name: 'instances',
    partition: ['number'],
    key: ['number'],
  })
  const operations = await store.collection<IdempotencyRecord>(IDEMPOTENCY_COLLECTION)
  return { payments, anomalies, instances, operations }
}

/** The key of a payment. */
export function keyOfPayment({ merchant_id, environment, c_id }: Payment): {
  [field in keyof PaymentKey]: string
} {
  return { merchant_id, environment, c_id }
}
