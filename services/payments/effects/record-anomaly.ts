import type { Environment } from '#lib/contract/environment.ts'
import { type Effect, effect } from '#lib/patterns/effects/effect.ts'
import type { EffectHandler } from '#lib/patterns/effects/runner.ts'
import { sha256Hex } from '#lib/platform/crypto/hash.ts'
import { Duplicate } from '#lib/platform/store/errors.ts'
import type { Collection } from '#lib/platform/store/port.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import type { ProviderOutcome } from '../connectors/connector.ts'
import type { Payment } from '../domain/payment.ts'

/** Why a verdict was not applied, in one word (P7). */
export type AnomalyKind = 'contradicts_final_state' | 'amount_differs' | 'success_of_earlier_attempt'

/** A provider's verdict that changed nothing and waits for the operator. */
export interface Anomaly {
  readonly merchant_id: string
  readonly anomaly_id: string
  readonly environment: Environment
  readonly payment_id: string
  readonly kind: string
  readonly description: string
  readonly created_at: Date
}

/**
 * The effect that keeps an anomaly: part of the very write that left the payment as it was, so none is lost. Its id
 * comes from what was said, so that the same verdict said again is no second anomaly.
 */
export function anomalyEffect(
  payment: Payment,
  kind: AnomalyKind,
  {
    attempt,
    outcome,
    at,
  }: { readonly attempt: number; readonly outcome: ProviderOutcome; readonly at: Date },
): Effect {
  const { payment_id, provider_accounts, state } = payment
  const amount = outcome.kind === 'success' ? ` of ${outcome.amount.minor} ${outcome.amount.currency}` : ''
  const said = `the provider account ${provider_accounts[attempt - 1]} said ${outcome.kind}${amount}`
  const anomaly_id = sha256Hex(`${payment_id}:${attempt}:${kind}:${said}`).slice(0, 32)
  return effect(
    {
      id: `${payment_id}:anomaly:${anomaly_id}`,
      kind: 'record_anomaly',
      lane: 'timer',
      data: { anomaly_id, kind, description: `${said} while the payment was ${state}` },
    },
    at,
  )
}

/** Keeps an anomaly once, however often the provider repeats the same verdict. */
export function anomalyKind(anomalies: Collection<Anomaly>): EffectHandler<Payment> {
  return {
    lease_ms: 5_000,
    tries_max: 50,
    async run({ data, due_at: created_at }, { merchant_id, environment, payment_id }) {
      const anomaly_id = String(data['anomaly_id'])
      const kind = String(data['kind'])
      const description = String(data['description'])
      try {
        await anomalies.insert({
          merchant_id,
          anomaly_id,
          environment,
          payment_id,
          kind,
          description,
          created_at,
        })
        log.error({ anomaly_id, payment_id, merchant_id, kind }, 'a verdict of the provider was not applied')
      } catch (error) {
        if (!(error instanceof Duplicate)) throw error
      }
      return (payment) => payment
    },
  }
}
