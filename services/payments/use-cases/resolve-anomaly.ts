import { now } from '#lib/base/time.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import type { Money } from '#lib/contract/money.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { update } from '#lib/patterns/update.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Anomaly, AnomalyResolution, OperatorResolution } from '../domain/anomaly.ts'
import { goToPaidAttempt } from '../domain/attempts.ts'
import { endByOperator } from '../domain/end-without-report.ts'
import { findOperation, isCurrent, OPERATION_RULES, operationOf } from '../domain/operation.ts'
import { isAdmitted, type Payment, requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import { countResolved, findAnomaly, keyOfAnomaly } from '../store/anomalies.ts'
import { findByAnyId, keyOfPayment } from '../store/payments.ts'

/** What resolving an anomaly needs. */
export interface ResolveAnomalyDeps {
  readonly anomalies: Collection<Anomaly>
  readonly payments: Collection<StoredPayment>
  readonly runner: Pick<EffectRunner<StoredPayment>, 'update' | 'runEffectsInBackground'>
  /** Whether the provider of the payment's attempt reports by itself what it decides later. */
  sendsCallbacks(payment: Payment): boolean
}

/** The operator's decision on an anomaly. */
export interface ResolveAnomalyRequest extends Pick<AnomalyResolution, 'operation_id' | 'note'> {
  readonly anomaly_id: string
  readonly kind: OperatorResolution
  /** What has moved. Only `paid` has it: the whole amount of the payment or refund. */
  readonly amount?: Money | undefined
}

/**
 * Resolves an anomaly, once. `paid` and `not_paid` first end its payment or refund like the provider's word; `dismissed` changes only
 * the anomaly, and one of them may follow while it is open. `paid` also says which account has paid what only the ledger knows as paid
 * (P19). An exact repetition returns the same. Of two decisions at the same moment, the one that moved money is on record. Throws 9000 for
 * an unknown anomaly, another amount, and an unmatched report that is not dismissed, 1005 for `paid` without an amount, 6010 when merchants
 * do not see its payment, 1013 for the same operation with another decision, and 8801 when the anomaly is resolved or the payment final.
 */
export async function resolveAnomaly(
  deps: ResolveAnomalyDeps,
  request: ResolveAnomalyRequest,
): Promise<Anomaly> {
  const { anomalies, payments } = deps
  const found = await findAnomaly(anomalies, request.anomaly_id)
  if (found === undefined) throw fieldError(9000, 'anomaly_id')
  checkResolution(found, request)
  const named = await findByAnyId(payments, found.payment_id)
  // No provider has been called for a withdrawal that is not admitted, so no decision can end it.
  const payment = named && isAdmitted(named) ? named : undefined
  const operation = payment && findOperation(payment, found.refund_id)
  const decision = operation?.operator_decision
  if (isRepetition(found, request)) {
    if (operation) checkAmount(operation.amount, request)
    return found
  }
  if (request.kind === 'dismissed') {
    if (decision?.startsWith(`${found.anomaly_id}:`)) throw new PublicError(8801)
  } else {
    if (payment === undefined) throw new PublicError(6010)
    await endAsDecided(deps, payment, found, request)
  }
  return recordResolution(anomalies, found, request)
}

/**
 * An unmatched report is about an operation that its account was not asked for. Only its address names the payment, which may be of
 * another merchant, or on its way at another account: the report never ends it.
 */
function checkResolution({ kind }: Anomaly, request: ResolveAnomalyRequest): void {
  const is_paid = request.kind === 'paid'
  if (kind === 'unmatched_report' && request.kind !== 'dismissed') throw fieldError(9000, 'resolution')
  if (is_paid && request.amount === undefined) throw fieldError(1005, 'amount')
  if (!is_paid && request.amount !== undefined) throw fieldError(9000, 'amount')
}

/** What arrived with another amount is not this payment: a confirmed part would leave the rest refundable. */
function checkAmount({ minor, currency }: Money, { amount }: ResolveAnomalyRequest): void {
  if (amount === undefined) return
  if (amount.minor !== minor)
    throw fieldError(9000, 'amount.minor', `${minor}, the whole amount; for another one decide not_paid`)
  if (amount.currency !== currency) throw fieldError(9000, 'amount.currency', currency)
}

/** The name under which a payment or refund keeps the decision that ended it. */
function decisionId({ anomaly_id, operation_id }: ResolveAnomalyRequest): string {
  return `${anomaly_id}:${operation_id}`
}

/** Whether this very decision was stored before. Throws for any other one, unless it may follow a dismissal. */
function isRepetition({ resolution }: Anomaly, { kind, operation_id, note }: ResolveAnomalyRequest): boolean {
  if (resolution === undefined) return false
  if (resolution.operation_id !== operation_id) {
    if (resolution.kind === 'dismissed' && kind !== 'dismissed') return false
    throw new PublicError(8801)
  }
  if (resolution.kind !== kind || resolution.note !== note) throw new PublicError(1013)
  return true
}

/** Ends the operation of the anomaly. After a crash, a repetition finds its own decision and goes on. */
async function endAsDecided(
  deps: Pick<ResolveAnomalyDeps, 'runner' | 'sendsCallbacks'>,
  found: Stored<StoredPayment>,
  anomaly: Anomaly,
  request: ResolveAnomalyRequest,
): Promise<void> {
  const decision = decisionId(request)
  const { refund_id } = anomaly
  const is_paid = request.kind === 'paid'
  const decide = (current: StoredPayment): StoredPayment | undefined => {
    const payment = requireAdmitted(current)
    const operation = operationOf(payment, refund_id)
    const paid =
      is_paid && !operation.is_open ? goToPaidAttempt(payment, anomaly.attempt_number ?? 0) : undefined
    if (!operation.is_open && paid === undefined && operation.operator_decision !== decision) {
      const reason = 'it has ended: dismiss the anomaly, and correct the balance'
      throw new PublicError(8801, { details: { reason } })
    }
    checkAmount(operation.amount, request)
    if (operation.is_open) {
      const sends_callbacks = deps.sendsCallbacks(operation.payment)
      const paid_attempt = is_paid && !isCurrent(payment, anomaly) ? anomaly.attempt_number : undefined
      const outcome = { decision, is_paid, at: now(), sends_callbacks, paid_attempt }
      return endByOperator(payment, refund_id, outcome)
    }
    if (paid) return { ...paid, operator_decision: decision }
    const { ends } = OPERATION_RULES[operation.kind]
    if (operation.status !== ends[is_paid ? 'success' : 'not_paid']) throw new PublicError(1013)
    return undefined
  }
  const stored = await deps.runner.update(keyOfPayment(found), decide, found)
  if (stored) deps.runner.runEffectsInBackground(stored)
}

async function recordResolution(
  anomalies: Collection<Anomaly>,
  found: Stored<Anomaly>,
  request: ResolveAnomalyRequest,
): Promise<Anomaly> {
  const { kind, operation_id, note } = request
  let is_new = false
  const decide = (anomaly: Anomaly): Anomaly | undefined => {
    // A dismissal that did not see the end of the payment gives way: the decision that moved money is on record.
    const is_overtaken = anomaly.resolution?.kind === 'dismissed' && kind !== 'dismissed'
    is_new = is_overtaken || !isRepetition(anomaly, request)
    if (!is_new) return undefined
    const { open_since: _open, ...rest } = anomaly
    return { ...rest, resolution: { kind, operation_id, note, at: now() } }
  }
  const stored = await update(anomalies, keyOfAnomaly(found), decide, found)
  if (stored === undefined) throw fieldError(9000, 'anomaly_id')
  if (is_new) {
    countResolved(kind)
    const { anomaly_id, payment_id, merchant_id } = stored
    log.info({ anomaly_id, payment_id, merchant_id, outcome: kind }, 'anomaly resolved')
  }
  return stored
}
