import type { BoundEffect, EffectDefinition } from '#lib/patterns/effects/define-effect.ts'
import type { Collection } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { type Anomaly, recordAnomalyEffect, recordRefundAnomalyEffect } from '../domain/anomaly.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { recordAnomaly } from '../store/anomalies.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

const LEASE_MS = 5_000
const TRIES_MAX = 50

/** Inserts the anomaly of a payment once, however often the effect runs. */
export function bindRecordAnomaly(anomalies: Collection<Anomaly>): BoundEffect<StoredPayment> {
  return bindRecord(anomalies, recordAnomalyEffect)
}

/** Inserts the anomaly of a refund once. */
export function bindRecordRefundAnomaly(anomalies: Collection<Anomaly>): BoundEffect<StoredPayment> {
  return bindRecord(anomalies, recordRefundAnomalyEffect)
}

interface RecordedAnomaly extends Pick<Anomaly, 'anomaly_id' | 'kind' | 'description'> {
  readonly reported_at: Date
  readonly refund_id?: string
  readonly attempt_number?: number | undefined
}

function bindRecord<Data extends RecordedAnomaly>(
  anomalies: Collection<Anomaly>,
  effect: EffectDefinition<Payment, Data>,
): BoundEffect<StoredPayment> {
  return bindPaymentEffect(effect, {
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    async run({ data }, { merchant_id, environment, payment_id }) {
      const { anomaly_id, kind, description, reported_at: created_at, refund_id, attempt_number } = data
      const about = {
        ...(refund_id === undefined ? {} : { refund_id }),
        ...(attempt_number === undefined ? {} : { attempt_number }),
      }
      const anomaly = {
        merchant_id,
        environment,
        payment_id,
        ...about,
        anomaly_id,
        kind,
        description,
        created_at,
      }
      const { is_new } = await recordAnomaly(anomalies, anomaly)
      if (is_new)
        log.error({ anomaly_id, payment_id, merchant_id, kind }, 'an anomaly waits for the operator')
      return (payment) => payment
    },
  })
}
