import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { defineEffect, isAbsentOrInteger, isInstant, isText } from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { ProviderUpdate } from './apply-provider-update.ts'
import type { CallResult } from './call-result.ts'
import { addEffect, asPaid, type Payment } from './payment.ts'
import { requireRefund } from './refund.ts'

const ANOMALY_KINDS = [
  'contradicts_final_status',
  'amount_differs',
  'success_of_earlier_attempt',
  'not_found_at_provider',
  'unmatched_report',
  'open_too_long',
] as const

/**
 * Why the operator must look at a payment: an update was not applied (P7), an attempt with an unknown result is
 * `not_found_at_provider` (P4), a signed callback is about no payment, or a withdrawal is open after 24 hours (P8).
 */
export type AnomalyKind = (typeof ANOMALY_KINDS)[number]

function isAnomalyKind(value: unknown): value is AnomalyKind {
  return ANOMALY_KINDS.some((kind) => kind === value)
}

/**
 * How the operator can resolve an anomaly. `paid` and `not_paid` end a payment that is still open; `dismissed` says
 * that nothing is left to do.
 */
export type ResolutionKind = 'dismissed' | 'paid' | 'not_paid'

/** The operator's decision on an anomaly. */
export interface AnomalyResolution {
  readonly kind: ResolutionKind
  readonly operation_id: string
  readonly note: string
  readonly at: Date
}

/**
 * How long an attempt that its provider does not know is only polled: its request may be slow, or the provider's own
 * search behind. Then the operator must look.
 */
export const NOT_FOUND_GRACE_MS = 300_000

/** Beyond these, reports that differ by their amounts only are one anomaly. */
const ANOMALIES_MAX = 20

/** What a provider reported and the system must not decide on; it waits for the operator. */
export interface Anomaly {
  readonly merchant_id: string
  readonly anomaly_id: string
  readonly environment: Environment
  readonly payment_id: string
  /** The refund of the payment that the anomaly is about; absent when it is about the payment itself. */
  readonly refund_id?: string
  /** The attempt that was reported; absent when the anomaly is about a refund, or about no attempt of the payment. */
  readonly attempt_number?: number
  readonly kind: AnomalyKind
  readonly description: string
  readonly created_at: Date
  /** `created_at` until the anomaly is resolved. */
  readonly open_since?: Date
  readonly resolution?: AnomalyResolution
}

/** The effect that stores an anomaly. It is part of the write that left the payment unchanged, so none is lost. */
export const recordAnomalyEffect = defineEffect({
  kind: 'record_anomaly',
  lane: 'independent',
  data: {
    anomaly_id: isText,
    kind: isAnomalyKind,
    description: isText,
    reported_at: isInstant,
    attempt_number: isAbsentOrInteger,
  },
  id: ({ payment_id }: Payment, { anomaly_id }) => `${payment_id}:anomaly:${anomaly_id}`,
})

/** The effect that stores an anomaly of a refund. */
export const recordRefundAnomalyEffect = defineEffect({
  kind: 'record_refund_anomaly',
  lane: 'independent',
  data: {
    refund_id: isText,
    anomaly_id: isText,
    kind: isAnomalyKind,
    description: isText,
    reported_at: isInstant,
  },
  id: ({ payment_id }: Payment, { anomaly_id }) => `${payment_id}:anomaly:${anomaly_id}`,
})

/**
 * Makes the effect for an update that was not applied. The anomaly id is a hash of what the provider reported, so that
 * a repeated report is not a second anomaly.
 */
export function newAnomalyEffect(
  payment: Payment,
  kind: AnomalyKind,
  { attempt_number, result, at }: Omit<ProviderUpdate, 'poll_at'>,
): Effect {
  return anomalyOfResult(payment, result, (reported) =>
    anomalyEffect(payment, kind, reported, { attempt_number, at }),
  )
}

/**
 * Makes the anomaly of a result that says what was reported, with its amount. Without the amount once the payment has
 * many anomalies, so that no number of amounts hides a report of another kind, or about another attempt or refund.
 */
export function anomalyOfResult(
  { anomalies = [] }: Payment,
  result: CallResult,
  newEffect: (reported: string) => Effect,
): Effect {
  const named = 'amount' in result ? result.amount : undefined
  const amount = named ? ` of ${named.minor} ${named.currency}` : ''
  const exact = newEffect(`reported ${result.kind}${amount}`)
  const is_exact = anomalies.length < ANOMALIES_MAX || anomalies.includes(exact.id)
  return is_exact ? exact : newEffect(`reported ${result.kind}, and more amounts than are recorded,`)
}

/** Makes the effect for a withdrawal without a result after 24 hours (P8). */
export function newOpenTooLongAnomaly(payment: Payment, at: Date): Effect {
  const { number: attempt_number } = payment.attempt
  return anomalyEffect(payment, 'open_too_long', 'has not decided after 24 hours', { attempt_number, at })
}

/**
 * Makes the effect for an attempt with an unknown result that the provider does not know and that cannot be sent again.
 */
export function newNotFoundAnomaly(
  payment: Payment,
  update: Pick<ProviderUpdate, 'attempt_number' | 'at'>,
): Effect {
  return anomalyEffect(payment, 'not_found_at_provider', 'does not know the attempt', update)
}

/**
 * Makes the effect for a report about a refund that the system must not decide on; `reported` is what the provider did.
 */
export function newRefundAnomaly(
  payment: Payment,
  kind: AnomalyKind,
  { refund_id, reported, at }: { readonly refund_id: string; readonly reported: string; readonly at: Date },
): Effect {
  const report = `provider account ${asPaid(payment).attempt.account_id} ${reported} ${refund_id}`
  const anomaly_id = sha256Hex(`${payment.payment_id}:${refund_id}:${kind}:${report}`).slice(0, 32)
  const state = requireRefund(payment, refund_id).state
  const description = `${report} while the refund was ${state}`
  const data = { refund_id, anomaly_id, kind, description, reported_at: at }
  return recordRefundAnomalyEffect.newEffect(payment, data, { at })
}

function anomalyEffect(
  payment: Payment,
  kind: AnomalyKind,
  reported: string,
  { attempt_number, at }: Pick<ProviderUpdate, 'attempt_number' | 'at'>,
): Effect {
  const { payment_id, provider_accounts, status, attempt } = payment
  const report = `provider account ${provider_accounts[attempt_number - 1]} ${reported}`
  const anomaly_id = sha256Hex(`${payment_id}:${attempt_number}:${kind}:${report}`).slice(0, 32)
  const present = attempt.number === attempt_number ? '' : ` at attempt ${attempt.number}`
  const description = `attempt ${attempt_number}: ${report} while the payment was ${status}${present}`
  const data = { anomaly_id, kind, description, reported_at: at, attempt_number }
  return recordAnomalyEffect.newEffect(payment, data, { at })
}

/**
 * Adds an anomaly once: one that was recorded before changes nothing, however often the provider repeats its report.
 */
export function addAnomaly(payment: Payment, anomaly: Effect): Payment {
  const { anomalies = [] } = payment
  if (anomalies.includes(anomaly.id)) return payment
  return addEffect({ ...payment, anomalies: [...anomalies, anomaly.id] }, anomaly)
}
