import { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from '#lib/patterns/idempotency/record.ts'
import type { Collection, Store } from '#lib/platform/store/store.ts'
import type { Anomaly } from '../domain/anomaly.ts'
import type { Payment } from '../domain/payment.ts'
import { ANOMALIES } from './anomalies.ts'
import { INSTANCE_NUMBER_LEASES, type InstanceNumberLease } from './instance-number-leases.ts'
import { PAYMENTS } from './payments.ts'

/** The collections of the payments service. */
export interface PaymentsStore {
  readonly payments: Collection<Payment>
  readonly anomalies: Collection<Anomaly>
  readonly instance_number_leases: Collection<InstanceNumberLease>
  /** The merchants' requests under an `operation_id`, with their results. */
  readonly idempotency_records: Collection<IdempotencyRecord>
}

/** Opens the collections. */
export async function openPaymentsStore(store: Store): Promise<PaymentsStore> {
  return {
    payments: await store.collection<Payment>(PAYMENTS),
    anomalies: await store.collection<Anomaly>(ANOMALIES),
    instance_number_leases: await store.collection<InstanceNumberLease>(INSTANCE_NUMBER_LEASES),
    idempotency_records: await store.collection<IdempotencyRecord>(IDEMPOTENCY_COLLECTION),
  }
}
