import { type BoundEffect, defineEffect, isInstant, isText } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { sha256Hex } from '#lib/platform/crypto/hash.ts'
import { Duplicate } from '#lib/platform/store/errors.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { type Anomaly, type AnomalyKind, isAnomalyKind } from '../domain/anomaly.ts'
import type { ProviderUpdate } from '../domain/apply-provider-update.ts'
import type { Payment } from '../domain/payment.ts'

const LEASE_MS = 5_000
const TRIES_MAX = 50

/** The effect that stores an anomaly. It is part of the write that left the payment unchanged, so none is lost. */
export const recordAnomalyEffect = defineEffect({
  kind: 'record_anomaly',
  lane: 'independent',
  data: { anomaly_id: isText, kind: isAnomalyKind, description: isText, reported_at: isInstant },
  id: ({ payment_id }: Payment, { anomaly_id }) => `${payment_id}:anomaly:${anomaly_id}`,
})

/**
 * Makes the effect for an update that was not applied. The anomaly id is a hash of what the provider reported, so that a
 * repeated report is not a second anomaly.
 */
export function newAnomalyEffect(
  payment: Payment,
  kind: AnomalyKind,
  { attempt_number, result, at }: Omit<ProviderUpdate, 'poll_at'>,
): Effect {
  const { payment_id, provider_accounts, status } = payment
  const amount = result.kind === 'success' ? ` of ${result.amount.minor} ${result.amount.currency}` : ''
  const report = `provider account ${provider_accounts[attempt_number - 1]} reported ${result.kind}${amount}`
  const anomaly_id = sha256Hex(`${payment_id}:${attempt_number}:${kind}:${report}`).slice(0, 32)
  const description = `${report} while the payment was ${status}`
  return recordAnomalyEffect.newEffect(payment, { anomaly_id, kind, description, reported_at: at }, { at })
}

/** Inserts the anomaly once, however often the effect runs. */
export function bindRecordAnomaly(anomalies: Collection<Anomaly>): BoundEffect<Payment> {
  return recordAnomalyEffect.bind<Payment>({
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    async run({ data }, { merchant_id, environment, payment_id }) {
      const { anomaly_id, kind, description, reported_at: created_at } = data
      const owner = { merchant_id, environment, payment_id }
      try {
        await anomalies.insert({ ...owner, anomaly_id, kind, description, created_at })
        log.error(
          { anomaly_id, payment_id, merchant_id, kind },
          'provider update not applied; check the anomaly',
        )
      } catch (error) {
        if (!(error instanceof Duplicate)) throw error
      }
      return (payment) => payment
    },
  })
}
