import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { insertOrGet, update, upsert } from '#lib/patterns/update.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import { findOne, keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec } from '#lib/store/store.ts'
import { TEST_END_INDEX } from '#lib/store/test-end.ts'
import { counter, gauge, measureOrForget } from '#lib/telemetry/metrics.ts'
import { type Anomaly, type AnomalyResolution, reopenAnomaly } from '../domain/anomaly.ts'
import type { Payment } from '../domain/payment.ts'

/**
 * The collection of anomalies, which the operator lists by their time, all or only those that are open. Each filter has an index,
 * because anomalies are few and written rarely.
 */
export const ANOMALIES = {
  name: 'anomalies',
  partition: ['merchant_id'],
  key: ['merchant_id', 'anomaly_id'],
  indexes: {
    by_created: { fields: ['created_at'], across_partitions: true },
    by_open: { fields: ['open_since'], where: 'open_since', across_partitions: true },
    by_kind: { fields: ['kind', 'created_at'], across_partitions: true },
    by_merchant: { fields: ['merchant_id', 'kind', 'created_at'] },
    by_account: { fields: ['account_id', 'kind', 'created_at'], across_partitions: true },
    by_payment: { fields: ['payment_id', 'created_at'], across_partitions: true },
    by_open_environment: {
      fields: ['environment', 'open_since'],
      where: 'open_since',
      across_partitions: true,
    },
    by_open_kind: { fields: ['kind', 'open_since'], where: 'open_since', across_partitions: true },
    by_open_merchant: { fields: ['merchant_id', 'kind', 'open_since'], where: 'open_since' },
    by_open_account: {
      fields: ['account_id', 'kind', 'open_since'],
      where: 'open_since',
      across_partitions: true,
    },
    by_id: { fields: ['anomaly_id'], across_partitions: true },
    ...TEST_END_INDEX,
    ...ACT_INDEX,
  },
} as const satisfies CollectionSpec

/** Takes the key from an anomaly. */
export const keyOfAnomaly = keyOf(ANOMALIES)

/** The anomaly of any merchant with this id. */
export function findAnomaly(anomalies: Collection<Anomaly>, anomaly_id: string) {
  return findOne(anomalies, 'by_id', [anomaly_id])
}

/** The most anomalies of a payment that are read: more than a payment records (P7), and some unmatched reports. */
const ANOMALIES_OF_PAYMENT_MAX = 100

/** The anomalies of a payment. An unmatched report knows its payment by the public id. */
export async function findAnomaliesOf(
  anomalies: Pick<Collection<Anomaly>, 'find'>,
  { merchant_id, payment_id, h_id }: Pick<Payment, 'merchant_id' | 'payment_id' | 'h_id'>,
): Promise<Anomaly[]> {
  const limit = ANOMALIES_OF_PAYMENT_MAX
  const found = await Promise.all(
    Array.from(new Set([payment_id, h_id]), (id) =>
      anomalies.find('by_payment', { equals: [id] }, { limit }),
    ),
  )
  return found.flat().filter((anomaly) => anomaly.merchant_id === merchant_id)
}

const open_anomalies = gauge(
  'multihub_open_anomalies',
  'Anomalies in the whole store that the operator has not resolved, by environment; 100 at most each.',
  ['environment'],
)
const OPEN_MAX = 100

/** Measures how many anomalies are open, by one read per environment. When one fails, the metric has no value. */
export function measureOpenAnomalies(anomalies: Pick<Collection<Anomaly>, 'find'>): Promise<void> {
  const environments = ENVIRONMENTS.names
  return measureOrForget(
    async () => {
      for (const environment of environments) {
        const range = { equals: [environment] }
        const found = await anomalies.find('by_open_environment', range, { limit: OPEN_MAX })
        open_anomalies.set({ environment }, found.length)
      }
    },
    () => {
      for (const environment of environments) open_anomalies.remove({ environment })
    },
  )
}

const recorded_anomalies = counter('multihub_anomalies_total', 'Anomalies that were recorded.', ['kind'])

/** Stores an anomaly, which is open then, and counts it. A repetition changes nothing: `is_new` is false. */
export async function recordAnomaly(
  anomalies: Pick<Collection<Anomaly>, 'get' | 'insert'>,
  anomaly: Omit<Anomaly, 'open_since' | 'resolution'>,
): Promise<{ readonly is_new: boolean }> {
  const open: Anomaly = { ...anomaly, open_since: anomaly.created_at }
  const { is_new } = await insertOrGet(anomalies, keyOfAnomaly(anomaly), open)
  if (is_new) recorded_anomalies.increment({ kind: anomaly.kind })
  return { is_new }
}

/**
 * Stores an anomaly whose cause is there now, or opens it again a minute after it was dismissed, and counts it. `is_new` is
 * false when it is open already, or silent.
 */
export async function recordLastingAnomaly(
  anomalies: Pick<Collection<Anomaly>, 'get' | 'insert' | 'replace'>,
  anomaly: Omit<Anomaly, 'open_since' | 'resolution'>,
): Promise<{ readonly is_new: boolean }> {
  const at = anomaly.created_at
  let is_new = false
  await upsert(anomalies, keyOfAnomaly(anomaly), (stored) => {
    const open = stored ? reopenAnomaly(stored, at) : { ...anomaly, open_since: at }
    is_new = open !== undefined
    return open
  })
  if (is_new) recorded_anomalies.increment({ kind: anomaly.kind })
  return { is_new }
}

const resolved_anomalies = counter(
  'multihub_anomalies_resolved_total',
  'Anomalies that were resolved: by the operator, or by the verdict of the provider.',
  ['resolution'],
)

/** Counts an anomaly that was resolved. */
export function countResolved(resolution: AnomalyResolution['kind']): void {
  resolved_anomalies.increment({ resolution })
}

/** Resolves an anomaly unless it is resolved already, or does not exist. */
export async function closeAnomaly(
  anomalies: Collection<Anomaly>,
  key: Pick<Anomaly, 'merchant_id' | 'anomaly_id'>,
  resolution: AnomalyResolution,
): Promise<void> {
  let is_new = false
  await update(anomalies, key, ({ open_since, ...anomaly }) => {
    is_new = open_since !== undefined
    return is_new ? { ...anomaly, resolution } : undefined
  })
  if (is_new) countResolved(resolution.kind)
}

/** Erases what the operator has noted at an anomaly (O11). One without a note stays as it is. */
export async function eraseNote(
  anomalies: Collection<Anomaly>,
  key: Pick<Anomaly, 'merchant_id' | 'anomaly_id'>,
): Promise<void> {
  await update(anomalies, key, (anomaly) =>
    anomaly.resolution?.note ? { ...anomaly, resolution: { ...anomaly.resolution, note: '' } } : undefined,
  )
}
