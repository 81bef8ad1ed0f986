import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { INSTRUCTION_FIELDS } from '#lib/contract/payment-methods.ts'
import { isSendKept } from './account-identity.ts'
import {
  type AnomalyKind,
  addAnomaly,
  closeAnomaly,
  NOT_FOUND_GRACE_MS,
  newAnomalyEffect,
  newNotFoundAnomaly,
  newOpenTooLongAnomaly,
  newSilentAnomaly,
} from './anomaly.ts'
import {
  type CreateResponse,
  goToFoundAttempt,
  goToPaidAttempt,
  keepForOtherAttempt,
  moveToNextAccount,
  noteOtherAttempt,
  returnToAttempt,
} from './attempts.ts'
import { type CallResult, type Instructions, namesOtherAmount } from './call-result.ts'
import {
  findOperation,
  isCurrent,
  OPERATION_RULES,
  type Operation,
  type OperationRef,
  operationOf,
  operationsToFind,
  refOf,
  type Verdict,
} from './operation.ts'
import { addEffect, type Payment, type ProviderRecord } from './payment.ts'
import { isPolled, pollProviderEffect, repeatCreateEffect } from './payment-effects.ts'
import { type CreateCall, withHistory } from './provider-history.ts'
import { namesOtherId, noteIds, recordOf, withRecord } from './provider-record.ts'
import { requireRefund, withRefund } from './refund.ts'
import { endRefund } from './refund-transitions.ts'
import { canTransition, type TransitionDetails, transition } from './transition.ts'

/** What a provider call or a callback reported about one operation, and when. */
export type ProviderUpdate = OperationRef & {
  readonly result: CallResult
  readonly at: Date
  /** When to poll the provider for the first time if it has not decided. */
  readonly poll_at: Date
  /** Set when the result is the response to a create, also to a repeated one. */
  readonly create?: CreateResponse
  /** The facts of the call that had this response, for the history. */
  readonly call?: CreateCall
  readonly is_callback?: boolean
}

/**
 * Applies what a provider reported about an operation (P4, P6, P7). The response to a create, a callback and a poll all use
 * this function, in any order and any number of times. What differs between deposits, withdrawals and refunds is in
 * `OPERATION_RULES`. Pure. Returns the same payment when nothing changes.
 */
export function applyProviderUpdate(payment: Payment, update: ProviderUpdate): Payment {
  return withHistory(payment, applyReport(payment, update), update)
}

function applyReport(payment: Payment, reported: ProviderUpdate): Payment {
  const operation = findOperation(payment, reported.refund_id)
  if (!operation) return payment
  const record = recordOf(payment, reported)
  const update = { ...reported, result: judgeResponse(record, reported) }
  const is_current = isCurrent(payment, update)
  if (namesOtherId(record, update.result)) {
    const disputed = withAnomaly(payment, 'id_differs', update)
    if (!operation.is_open) return disputed
    const noted = record.has_other_id ? disputed : withRecord(disputed, update, { has_other_id: true })
    return is_current ? pollLater(noted, update) : noted
  }
  if (payment.restored === 'booked' && update.attempt_number !== undefined)
    return findPaidAttempt(payment, update)
  if (!operation.is_open && is_current) {
    const anomaly = contradiction(operation, update.result)
    return anomaly ? withAnomaly(payment, anomaly, update) : payment
  }
  const noted = operation.is_open ? noteIds(payment, update, update.result) : payment
  if (is_current) return applyToOpen(noted, operationOf(noted, update.refund_id), update)
  if (update.attempt_number === undefined) return payment
  const moved = returnToAttempt(noted, update) ?? goToFoundAttempt(noted, update)
  return moved ? applyReport(moved, update) : noteOtherAttempt(noted, update)
}

/**
 * What a report proves. A create that is refused, or was not sent, after its account has reported the same operation proves
 * nothing: it is about this request only, and the operation exists (P4).
 */
function judgeResponse({ provider_id }: ProviderRecord, { result, create }: ProviderUpdate): CallResult {
  const has_failed = ['declined', 'canceled', 'not_sent'].includes(result.kind)
  return create !== undefined && has_failed && provider_id !== undefined
    ? { kind: 'unknown', reason: 'failed after a report about the same operation' }
    : result
}

/** A payment that only the ledger knows as paid learns at which account it was: that answers the anomalies about all (P19). */
function findPaidAttempt(
  payment: Payment,
  update: ProviderUpdate & { readonly attempt_number: number },
): Payment {
  const { result, at } = update
  if (result.kind !== 'success') return payment
  if (namesOtherAmount(result, operationOf(payment).amount))
    return withAnomaly(payment, 'amount_differs', update)
  const found = goToPaidAttempt(noteIds(payment, update, result), update.attempt_number)
  if (found === undefined) return payment
  const paid = { ...found, finished_at: result.completed_at }
  return operationsToFind(paid, undefined).reduce(
    (current, operation) =>
      closeAnomaly(current, newNotFoundAnomaly(current, { ...refOf(operation), at }), at),
    noteDetails(paid, operationOf(paid), result),
  )
}

function applyToOpen(payment: Payment, operation: Operation, update: ProviderUpdate): Payment {
  const { result, refund_id, at } = update
  if (namesOtherAmount(result, operation.amount))
    return pollLater(withAnomaly(payment, 'amount_differs', update), update)
  switch (result.kind) {
    case 'success':
      return endByProvider(noteDetails(payment, operation, result), operation, 'success', {
        at,
        finished_at: result.completed_at,
      })
    case 'pending':
      return pollLater(noteDetails(payment, operation, result), update)
    case 'unknown':
      return pollLater(payment, update)
    case 'not_sent':
      // Once a result was undecided, the provider may already have the operation: this request was not sent, but an earlier
      // one may have arrived.
      if (operation.undecided_since !== undefined || isPolled(payment, refund_id))
        return pollLater(payment, update)
      return fail(payment, operation, update, 7002)
    case 'declined':
    case 'canceled':
      return fail(payment, operation, update, result.code)
  }
}

/**
 * The operation has failed at its account, with `error_code`. A payment stays open when another account may have been paid,
 * and a create that was not sent goes to the next account.
 */
function fail(
  payment: Payment,
  operation: Operation,
  update: ProviderUpdate,
  error_code: ErrorCode,
): Payment {
  const { result, at, attempt_number, create } = update
  if (attempt_number !== undefined) {
    const kept = keepForOtherAttempt(payment, { attempt_number, result, at })
    if (kept) return pollLater(kept, update)
    // Another account may have it, and has not answered yet (P19).
    if (payment.restored === 'asking_accounts') return pollLater(payment, update)
  }
  if (create && OPERATION_RULES[operation.kind].fails_over && result.kind === 'not_sent') {
    const moved = moveToNextAccount(payment, at, create)
    if (moved) return moved
  }
  const verdict = result.kind === 'canceled' || result.kind === 'declined' ? result.kind : 'not_sent'
  // Only now: what this account reported about itself does not belong to a payment that another account may have.
  const noted = noteDetails(payment, operation, result)
  return endByProvider(noted, operation, verdict, { at, error_code })
}

/** Ends an operation by the word of its provider, which also answers the anomaly of a provider that did not know it (P4). */
function endByProvider(
  payment: Payment,
  operation: Operation,
  verdict: Verdict,
  details: Pick<TransitionDetails, 'at' | 'error_code' | 'finished_at'>,
): Payment {
  const ended = endOperation(payment, operation, verdict, details)
  const { at } = details
  return closeAnomaly(ended, newNotFoundAnomaly(ended, { ...refOf(operation), at }), at)
}

/**
 * Ends an open operation in the status that the table has for the verdict, by a transition of the payment or by the end of
 * the refund in it. Pure.
 */
export function endOperation(
  payment: Payment,
  operation: Operation,
  verdict: Verdict,
  details: Pick<TransitionDetails, 'at' | 'error_code' | 'finished_at'>,
): Payment {
  return operation.kind === 'refund'
    ? endRefund(payment, operation.refund_id, OPERATION_RULES.refund.ends[verdict], details)
    : transition(payment, OPERATION_RULES[operation.kind].ends[verdict], details)
}

/** What a lookup that did not find an operation allows, and when it ended. */
export type NotFoundUpdate = OperationRef & {
  /** What the account was that did not find it. */
  readonly fingerprint: string
  /** Whether the create may be sent again under its key. */
  readonly may_repeat: boolean
  readonly at: Date
}

/**
 * Applies a lookup that did not find an operation (P4): adds the effect that sends its create again or, where that is not
 * safe, after five minutes an anomaly for the operator. It is never safe once the provider has reported the operation. Polls
 * continue in all cases: the first request may arrive late, or the provider may find it again. Pure. Returns the same payment
 * when nothing changes.
 */
export function applyNotFoundUpdate(payment: Payment, update: NotFoundUpdate): Payment {
  const { refund_id, fingerprint, may_repeat, at } = update
  const operation = findOperation(payment, refund_id)
  if (!operation?.is_open || !isCurrent(payment, update)) return payment
  // The effect that asks all accounts of it reports what is missing (P19).
  if (operation.restored === 'asking_accounts') return payment
  const { undecided_since, began_at, record } = operation
  const is_known = record.provider_id !== undefined
  if (may_repeat && !is_known) {
    // Kept before it is sent there: a later change of the account needs a confirmation of its own (P4).
    const kept = isSendKept(record.account, fingerprint)
      ? payment
      : withRecord(payment, update, { account: { fingerprint, at } })
    return addEffect(kept, repeatCreateEffect.newEffect(kept, { refund_id }, { at }))
  }
  if (is_known && record.not_found_since === undefined)
    return withRecord(payment, update, { not_found_since: at })
  // Its request had been sent when its first result was stored, also an unknown one.
  const since = record.not_found_since ?? undecided_since ?? began_at
  if (at.getTime() - since.getTime() < NOT_FOUND_GRACE_MS) return payment
  return addAnomaly(payment, newNotFoundAnomaly(payment, update))
}

/** Why a result cannot be true together with the final status of the operation (P7). */
function contradiction(operation: Operation, result: CallResult): AnomalyKind | undefined {
  const { contradicted_by } = OPERATION_RULES[operation.kind]
  if (contradicted_by[operation.status]?.includes(result.kind)) return 'contradicts_final_status'
  if (namesOtherAmount(result, operation.amount)) return 'amount_differs'
  return result.kind === 'success' && isEndedByReport(operation) ? 'contradicts_final_status' : undefined
}

/**
 * Whether the operator ended the payment for another reason than that the current attempt had no result: because of a
 * report about another attempt, with another amount, or that contradicts an earlier one. Then a success may be a second
 * payment. A refund has one account, so a success is the one that the operator knew.
 */
function isEndedByReport({ kind, operator_decision: decision, payment }: Operation): boolean {
  if (decision === undefined || !OPERATION_RULES[kind].fails_over) return false
  const { attempt, updated_at: at } = payment
  const current = { attempt_number: attempt.number, at }
  const own = [newNotFoundAnomaly, newOpenTooLongAnomaly, newSilentAnomaly].map((newAnomaly) =>
    newAnomaly(payment, current),
  )
  return !own.some(({ data }) => decision.startsWith(`${data['anomaly_id']}:`))
}

function withAnomaly(payment: Payment, kind: AnomalyKind, update: ProviderUpdate): Payment {
  return addAnomaly(payment, newAnomalyEffect(payment, kind, update))
}

/** The provider has not decided: the operation remembers that, and gets a poll unless one waits already. */
function pollLater(payment: Payment, { refund_id, at, poll_at }: ProviderUpdate): Payment {
  const undecided = noteUndecided(payment, refund_id, at)
  if (isPolled(undecided, refund_id)) return undecided
  const poll = pollProviderEffect.newEffect(undecided, { refund_id }, { at, due_at: poll_at })
  return { ...undecided, effects: [...undecided.effects, poll] }
}

/** Moves a `created` payment to `processing`; a refund keeps the time of its first undecided result. */
function noteUndecided(payment: Payment, refund_id: string | undefined, at: Date): Payment {
  if (refund_id === undefined)
    return canTransition(payment, 'processing') ? transition(payment, 'processing', { at }) : payment
  const refund = requireRefund(payment, refund_id)
  return refund.undecided_since ? payment : withRefund(payment, { ...refund, undecided_since: at })
}

/**
 * Copies the provider id, UTR and payment instructions onto the payment. Existing values are kept, because the customer may
 * already have seen them.
 */
function noteDetails(
  payment: Payment,
  { refund_id }: Operation,
  result: Pick<CallResult, 'kind'> & {
    readonly provider_id?: string
    readonly utr?: string | undefined
    readonly instructions?: Instructions
  },
): Payment {
  if (refund_id !== undefined) return payment
  const { provider_id, utr, instructions } = result
  const before = { p_id: payment.p_id, utr: payment.utr, instructions: payment.instructions }
  const noted = {
    p_id: before.p_id ?? provider_id,
    utr: before.utr ?? utr,
    instructions: before.instructions ?? (instructions && instructionsOfMethod(instructions, payment.method)),
  }
  const is_same =
    noted.p_id === before.p_id && noted.utr === before.utr && noted.instructions === before.instructions
  return is_same ? payment : { ...payment, ...noted }
}

/** Only the instructions that the payment method allows: UPI never shows a provider's web page, for example (P13). */
function instructionsOfMethod(instructions: Instructions, method: string): Instructions {
  const allowed: readonly string[] = Object.hasOwn(INSTRUCTION_FIELDS, method)
    ? (INSTRUCTION_FIELDS[method] ?? [])
    : []
  return Object.fromEntries(Object.entries(instructions).filter(([field]) => allowed.includes(field)))
}
