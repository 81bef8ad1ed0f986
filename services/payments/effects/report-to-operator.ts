import { now } from '#lib/base/time.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Collection } from '#lib/store/store.ts'
import { unlimited_log } from '#lib/telemetry/log.ts'
import {
  type Anomaly,
  addAnomaly,
  closeAnomalyEffect,
  newOpenTooLongAnomaly,
  recordAnomalyEffect,
} from '../domain/anomaly.ts'
import { operationOf, refOf } from '../domain/operation.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { reportOpenEffect } from '../domain/payment-effects.ts'
import { closeAnomaly, recordAnomaly } from '../store/anomalies.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

const LEASE_MS = 5_000
const RECORD_TRIES_MAX = 50
/** The effect calls nothing outside, so only crashes use up its tries. */
const REPORT_TRIES_MAX = 20

/** Inserts an anomaly once, however often the effect runs. */
export function bindRecordAnomaly(anomalies: Collection<Anomaly>): BoundEffect<StoredPayment> {
  return recordAnomalyEffect.bind<StoredPayment>({
    lease_ms: LEASE_MS,
    tries_max: RECORD_TRIES_MAX,
    async run({ data }, { merchant_id, environment, payment_id }) {
      const { reported_at: created_at, ...reported } = data
      const { anomaly_id, kind } = reported
      const anomaly = { ...reported, merchant_id, environment, payment_id, created_at }
      const { is_new } = await recordAnomaly(anomalies, anomaly)
      if (is_new)
        unlimited_log.error(
          { anomaly_id, payment_id, merchant_id, kind },
          'an anomaly waits for the operator',
        )
      return (payment) => payment
    },
  })
}

/** Resolves an anomaly that the provider's verdict has answered, unless the operator was faster (P4). */
export function bindCloseAnomaly(anomalies: Collection<Anomaly>): BoundEffect<StoredPayment> {
  return bindPaymentEffect(closeAnomalyEffect, {
    lease_ms: LEASE_MS,
    tries_max: RECORD_TRIES_MAX,
    async run({ id, data: { anomaly_id } }, { merchant_id }) {
      const note = 'the provider has decided about it'
      await closeAnomaly(
        anomalies,
        { merchant_id, anomaly_id },
        {
          kind: 'decided_by_provider',
          operation_id: id,
          note,
          at: now(),
        },
      )
      return (payment) => payment
    },
  })
}

/** Leaves an operation that is still open to the operator, as an anomaly. It is polled further (P8). */
export function bindReportOpen(): BoundEffect<StoredPayment> {
  return bindPaymentEffect(reportOpenEffect, {
    lease_ms: LEASE_MS,
    tries_max: REPORT_TRIES_MAX,
    run:
      async ({ data: { refund_id } }) =>
      (payment) => {
        const operation = operationOf(payment, refund_id)
        if (!operation.is_open) return payment
        return addAnomaly(payment, newOpenTooLongAnomaly(payment, { ...refOf(operation), at: now() }))
      },
  })
}
