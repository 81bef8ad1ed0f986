import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { amountText } from '#lib/contract/shown-values.ts'
import {
  defineEffect,
  isAbsentOrInteger,
  isAbsentOrText,
  isInstant,
  isOneOf,
  isText,
} from '#lib/patterns/effects/define-effect.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import type { CallResult } from './call-result.ts'
import { type OperationRef, operationOf } from './operation.ts'
import { addEffect, type Payment, type StoredPayment } from './payment.ts'
import { recordOf } from './provider-record.ts'

/** All kinds of anomalies. */
export const ANOMALY_KINDS = [
  'contradicts_final_status',
  'amount_differs',
  'success_of_earlier_attempt',
  'not_found_at_provider',
  'unmatched_report',
  'open_too_long',
  'id_differs',
  'ledger_refused',
  'silent_since_restore',
  'account_moved',
] as const

/**
 * Why the operator must look at a payment: an update was not applied (P7), an attempt or refund is `not_found_at_provider` and
 * is not sent again (P4), its provider reports another id (P4), a provider account is configured as another one (P4), a signed
 * callback is about no payment, a withdrawal is open after 24 hours (P8), the ledger has refused an entry permanently, or an
 * account does not say what it knows of a restored payment (P19).
 */
export type AnomalyKind = (typeof ANOMALY_KINDS)[number]

/**
 * How an anomaly is resolved. `paid` and `not_paid` end a payment that is still open; `dismissed` says that nothing is left
 * to do; `decided_by_provider` is no choice of the operator: the provider's verdict came (P4).
 */
export type ResolutionKind = 'dismissed' | 'paid' | 'not_paid' | 'decided_by_provider'

/** What the operator can decide. */
export type OperatorResolution = Exclude<ResolutionKind, 'decided_by_provider'>

/** The decision on an anomaly. */
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
  /** Empty, like `payment_id`, when the anomaly is about a provider account. */
  readonly merchant_id: string
  readonly anomaly_id: string
  readonly environment: Environment
  readonly payment_id: string
  /** The refund of the payment that the anomaly is about; absent when it is about the payment itself. */
  readonly refund_id?: string | undefined
  /** The attempt that was reported; absent when the anomaly is about a refund, or about no attempt of the payment. */
  readonly attempt_number?: number | undefined
  /** The provider account that it is about; absent when it is about none. */
  readonly account_id?: string | undefined
  readonly kind: AnomalyKind
  readonly description: string
  readonly created_at: Date
  /** When it was created, or opened again; absent once it is resolved. */
  readonly open_since?: Date
  readonly resolution?: AnomalyResolution
  /** See `testEndedAt`; the store derives it. */
  readonly test_ended_at?: Date | undefined
}

/**
 * How long a dismissed anomaly stays silent while its cause lasts. It is longer than any check that began before the
 * operator mended the cause, so that such a check does not open it again.
 */
const SILENT_MS = 60_000

/** A dismissed anomaly, open again: its cause still lasts, so the dismissal was a mistake. `undefined` while it is silent. */
export function reopenAnomaly({ resolution, ...anomaly }: Anomaly, at: Date): Anomaly | undefined {
  if (resolution?.kind !== 'dismissed' || at.getTime() - resolution.at.getTime() < SILENT_MS) return undefined
  return { ...anomaly, open_since: at }
}

/** Whether nobody has to decide about an anomaly any more. */
export function isResolved({ open_since }: Anomaly): boolean {
  return open_since === undefined
}

/** The effect that stores an anomaly. It is part of the write that left the payment unchanged, so none is lost. */
export const recordAnomalyEffect = defineEffect({
  kind: 'record_anomaly',
  lane: 'independent',
  data: {
    anomaly_id: isText,
    kind: isOneOf<AnomalyKind>(ANOMALY_KINDS),
    description: isText,
    reported_at: isInstant,
    attempt_number: isAbsentOrInteger,
    refund_id: isAbsentOrText,
    account_id: isAbsentOrText,
  },
  id: ({ payment_id }: StoredPayment, { anomaly_id }) => `${payment_id}:anomaly:${anomaly_id}`,
})

/** The effect that resolves an anomaly which the provider's verdict has answered, after it is stored (P4). */
export const closeAnomalyEffect = defineEffect({
  kind: 'close_anomaly',
  lane: 'independent',
  data: { anomaly_id: isText },
  id: ({ payment_id }: Payment, { anomaly_id }) => `${payment_id}:close:${anomaly_id}`,
})

/** The operation that an anomaly is about, and when it was noticed. */
type AnomalySubject = OperationRef & { readonly at: Date }

/**
 * Makes the effect for a result that was not applied. The anomaly id is a hash of what the provider reported, so that a
 * repeated report is not a second anomaly. It says the amount, but not once the payment has many anomalies, so that no
 * number of amounts hides a report of another kind, or about another operation.
 */
export function newAnomalyEffect(
  payment: Payment,
  kind: AnomalyKind,
  { result, ...subject }: AnomalySubject & { readonly result: CallResult },
): Effect {
  const { anomalies = [] } = payment
  const named = 'amount' in result ? result.amount : undefined
  // Ids were made from minor units before descriptions had major units, and must stay the same.
  const amount = named ? ` of ${named.minor} ${named.currency}` : ''
  const amount_shown = named ? ` of ${amountText(named.minor, named.currency, { is_minor: false })}` : ''
  // Each other id may be an operation of its own.
  const id = kind === 'id_differs' && 'provider_id' in result ? ` as ${result.provider_id}` : ''
  const shown = `reported ${result.kind}${amount_shown}${id}`
  const exact = anomalyEffect(payment, kind, shown, subject, `reported ${result.kind}${amount}${id}`)
  if (anomalies.length < ANOMALIES_MAX || anomalies.includes(exact.id)) return exact
  const reported = `reported ${result.kind}, and more of them than are recorded,`
  return anomalyEffect(payment, kind, reported, subject)
}

/** Makes the effect for an operation without a result after 24 hours (P8). */
export function newOpenTooLongAnomaly(payment: Payment, subject: AnomalySubject): Effect {
  return anomalyEffect(payment, 'open_too_long', 'has not decided after 24 hours', subject)
}

/** Makes the effect for an account that has not said what it knows of a restored operation (P19). */
export function newSilentAnomaly(payment: Payment, subject: AnomalySubject): Effect {
  return anomalyEffect(payment, 'silent_since_restore', 'has not answered since the restore', subject)
}

/** Makes the effect for an operation with an unknown result that its provider does not know and that cannot be sent again. */
export function newNotFoundAnomaly(payment: Payment, subject: AnomalySubject): Effect {
  const what = subject.refund_id === undefined ? 'attempt' : 'refund'
  return anomalyEffect(payment, 'not_found_at_provider', `does not know the ${what}`, subject)
}

/** Makes the effect for an entry that the ledger refuses with `code` however often it is asked: the entry's effect is stuck. */
export function newLedgerRefusalAnomaly(
  payment: StoredPayment,
  { entry, code, at }: { readonly entry: Effect; readonly code: number; readonly at: Date },
): Effect {
  const kind = 'ledger_refused'
  const anomaly_id = sha256Hex(`${entry.id}:${kind}:${code}`).slice(0, 32)
  const description = `the ledger refused the entry ${entry.id} with ${code} while the payment was ${payment.status}`
  const named = entry.data['refund_id']
  const refund_id = typeof named === 'string' ? named : undefined
  const data = {
    anomaly_id,
    kind,
    description,
    reported_at: at,
    attempt_number: undefined,
    refund_id,
    account_id: undefined,
  } as const
  return recordAnomalyEffect.newEffect(payment, data, { at })
}

function anomalyEffect(
  payment: Payment,
  kind: AnomalyKind,
  reported: string,
  { refund_id, attempt_number, at }: AnomalySubject,
  identity = reported,
): Effect {
  const operation = operationOf(payment, refund_id)
  const { payment_id, provider_accounts } = payment
  const { attempt } = operation.payment
  const number = attempt_number ?? attempt.number
  const account_id = refund_id === undefined ? provider_accounts[number - 1] : attempt.account_id
  const provider = `provider account ${account_id}`
  const identified = `${payment_id}:${refund_id ?? number}:${kind}:${provider} ${identity}`
  const anomaly_id = sha256Hex(identified).slice(0, 32)
  const subject = refund_id === undefined ? `attempt ${number}` : `refund ${refund_id}`
  const current = number === attempt.number ? '' : ` at attempt ${attempt.number}`
  // The names by which the operator finds the operation at the provider. They may change, so the id does not cover them.
  const { provider_id, transaction_id } = recordOf(payment, { attempt_number: number, refund_id })
  const transaction = transaction_id === undefined ? '' : `, transaction ${transaction_id}`
  const names = provider_id === undefined ? '' : `; its id there: ${provider_id}${transaction}`
  const description = `${subject}: ${provider} ${reported} while the ${refund_id === undefined ? 'payment' : 'refund'} was ${operation.status}${current}${names}`
  const data = { anomaly_id, kind, description, reported_at: at, attempt_number, refund_id, account_id }
  return recordAnomalyEffect.newEffect(payment, data, { at })
}

/**
 * Closes an anomaly, now that its provider has said what was missing (P4, P19). Changes nothing when the payment has not got
 * that anomaly.
 */
export function closeAnomaly(payment: Payment, { id, data }: Effect, at: Date): Payment {
  if (!payment.anomalies?.includes(id)) return payment
  const close = { anomaly_id: String(data['anomaly_id']) }
  return addEffect(payment, closeAnomalyEffect.newEffect(payment, close, { at, after: id }))
}

/** Adds an anomaly once: one that was recorded before changes nothing, however often the provider repeats its report. */
export function addAnomaly<Document extends StoredPayment>(payment: Document, anomaly: Effect): Document {
  const { anomalies = [] } = payment
  if (anomalies.includes(anomaly.id)) return payment
  return addEffect({ ...payment, anomalies: [...anomalies, anomaly.id] }, anomaly)
}

/** The ids of the anomalies of a payment. */
export function anomalyIdsOf({ anomalies = [] }: Payment): readonly string[] {
  return anomalies.map((effect_id) => effect_id.slice(effect_id.lastIndexOf(':') + 1))
}
