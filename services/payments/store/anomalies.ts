import type { CollectionSpec } from '#lib/platform/store/store.ts'

/** The collection of anomalies, which the operator lists over all merchants by their time. */
export const ANOMALIES: CollectionSpec = {
  name: 'anomalies',
  partition: ['merchant_id'],
  key: ['merchant_id', 'anomaly_id'],
  indexes: { by_created: { fields: ['created_at'], across_partitions: true } },
}
