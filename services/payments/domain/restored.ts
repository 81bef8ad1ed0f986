import { isFinal } from '#lib/contract/payment-status.ts'
import {
  addAnomaly,
  closeAnomaly,
  NOT_FOUND_GRACE_MS,
  newNotFoundAnomaly,
  newSilentAnomaly,
} from './anomaly.ts'
import { applyProviderUpdate } from './apply-provider-update.ts'
import type { LookupResult } from './call-result.ts'
import { findOperation, type OperationRef } from './operation.ts'
import {
  addEffect,
  isAdmitted,
  type Payment,
  type ReservingWithdrawal,
  type RestoreMark,
  type StoredPayment,
} from './payment.ts'
import { findRestoredEffect, isAbout } from './payment-effects.ts'
import { isActive, requireRefund, withRefund } from './refund.ts'

/**
 * Marks what a backup had open: the payment, and its refunds that have not ended. What happened to them since is unknown, so
 * nothing is sent for them until their accounts have answered, counted from this restore (P19). A withdrawal that is not admitted asks
 * when it is. Pure. Returns the same document when nothing is open.
 */
export function markRestored(document: StoredPayment, at: Date): StoredPayment {
  if (document.status === 'refused') return document
  if (!isAdmitted(document)) return withUnknownHold(document)
  const refund_ids = (document.refunds ?? []).filter(isActive).map(({ refund_id }) => refund_id)
  const open = isFinal(document.status) ? refund_ids : [undefined, ...refund_ids]
  return open.reduce((payment: Payment, refund_id) => {
    const find = findRestoredEffect.newEffect(payment, { refund_id, since: at }, { at })
    const marked = withUnknownRefundHold(withRestored(payment, refund_id, 'asking_accounts'), refund_id)
    // The backup can have the questions of an earlier restore.
    return addEffect({ ...marked, effects: marked.effects.filter(({ id }) => id !== find.id) }, find)
  }, document)
}

/** The ledger may have refused it after the backup, and the operator have closed it, as of a withdrawal that is not admitted. */
function withUnknownRefundHold(payment: Payment, refund_id: string | undefined): Payment {
  const refund = refund_id === undefined ? undefined : requireRefund(payment, refund_id)
  return refund?.state === 'approving' ? withRefund(payment, { ...refund, is_hold_unknown: true }) : payment
}

/** The ledger may have refused it after the backup, so whatever it decides now, nothing may be sent (P19). */
function withUnknownHold(document: ReservingWithdrawal): ReservingWithdrawal {
  const attempts = (document.attempts ?? []).map((attempt) => ({ ...attempt, is_hold_unknown: true }))
  return { ...document, attempts, restored: 'asking_accounts' }
}

/**
 * How long after the restore an account is asked before "not found" counts: a provider's search may lag behind what it has
 * accepted, and a create may have left just before the system was stopped (P19).
 */
const SEARCH_LAG_MS = 60_000

/** What the accounts of a restored operation answered, each about its own attempt, and since when they are asked. */
export interface RestoredAnswers {
  readonly refund_id: string | undefined
  readonly answers: readonly (OperationRef & { readonly result: LookupResult })[]
  readonly asked_since: Date
  /** When these lookups were sent. */
  readonly asked_at: Date
  readonly at: Date
}

/**
 * Applies what the accounts of a restored operation know of it: the attempt that was made last becomes the current one, and
 * its status counts. With all answers it is `accounts_answered`. Before, an account that is silent for five minutes is an
 * anomaly for the operator, whose decision ends the operation; its answer closes it. The anomaly stays when another account
 * has ended the operation: a second payment may be there (P19). A payment that only the ledger knows as paid is asked for until
 * an account says so; after five minutes each account that does not is an anomaly, and its refunds wait. Pure. Returns the same
 * payment when nothing changes.
 */
export function applyRestoredAnswers(payment: Payment, update: RestoredAnswers): Payment {
  const { refund_id, asked_since, asked_at, at } = update
  const mark = findOperation(payment, refund_id)?.restored
  if (mark !== 'asking_accounts' && mark !== 'booked') return payment
  const may_lag = asked_at.getTime() - asked_since.getTime() < SEARCH_LAG_MS
  const answers = may_lag ? update.answers.map(asUnknown) : update.answers
  const applyAnswers = (begun: Payment): Payment =>
    answers.reduce((current, { result, ...ref }) => {
      if (result.kind === 'not_found' || result.kind === 'unknown') return current
      return applyProviderUpdate(current, { ...ref, result, at, poll_at: at })
    }, begun)
  const noted = applyAnswers(payment)
  const silent = answers.filter(({ result }) => result.kind === 'unknown')
  const has_ended =
    refund_id === undefined ? isFinal(noted.status) : !isActive(requireRefund(noted, refund_id))
  const is_booked = findOperation(noted, refund_id)?.restored === 'booked'
  const is_early = at.getTime() - asked_since.getTime() < NOT_FOUND_GRACE_MS
  if ((silent.length > 0 || is_booked) && is_early) return noted
  const reported = answers.reduce((current, { result, ...ref }) => {
    if (result.kind === 'unknown') return addAnomaly(current, newSilentAnomaly(current, { ...ref, at }))
    return is_booked ? addAnomaly(current, newNotFoundAnomaly(current, { ...ref, at })) : current
  }, noted)
  if (is_booked || (silent.length > 0 && !has_ended)) return reported
  const effects = reported.effects.filter(
    (effect) => !(findRestoredEffect.matches(effect) && isAbout(effect, refund_id)),
  )
  // Once more, because a failure counts only when no other account can have been paid.
  const answered = applyAnswers(withRestored({ ...reported, effects }, refund_id, 'accounts_answered'))
  return answers.reduce((current, { result, ...ref }) => {
    if (result.kind === 'unknown') return current
    return closeAnomaly(current, newSilentAnomaly(current, { ...ref, at }), at)
  }, answered)
}

/** What was not found before a search can have it says nothing. */
function asUnknown(answer: RestoredAnswers['answers'][number]): RestoredAnswers['answers'][number] {
  if (answer.result.kind !== 'not_found') return answer
  return { ...answer, result: { kind: 'unknown', reason: 'not found soon after the restore' } }
}

function withRestored(payment: Payment, refund_id: string | undefined, restored: RestoreMark): Payment {
  if (refund_id === undefined) return { ...payment, restored }
  return withRefund(payment, { ...requireRefund(payment, refund_id), restored })
}
