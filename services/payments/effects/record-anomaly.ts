import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { type Anomaly, recordAnomalyEffect } from '../domain/anomaly.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { recordAnomaly } from '../store/anomalies.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

const LEASE_MS = 5_000
const TRIES_MAX = 50

/** Inserts the anomaly once, however often the effect runs. */
export function bindRecordAnomaly(anomalies: Collection<Anomaly>): BoundEffect<StoredPayment> {
  return bindPaymentEffect(recordAnomalyEffect, {
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    async run({ data }, { merchant_id, environment, payment_id }) {
      const { anomaly_id, kind, description, reported_at: created_at } = data
      const owner = { merchant_id, environment, payment_id }
      const anomaly = { ...owner, anomaly_id, kind, description, created_at }
      const { is_new } = await recordAnomaly(anomalies, anomaly)
      if (is_new)
        log.error({ anomaly_id, payment_id, merchant_id, kind }, 'an anomaly waits for the operator')
      return (payment) => payment
    },
  })
}
