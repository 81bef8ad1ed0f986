import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Money } from '#lib/contract/money.ts'
import {
  type AnomalyKind,
  addAnomaly,
  anomalyOfResult,
  NOT_FOUND_GRACE_MS,
  newRefundAnomaly,
} from './anomaly.ts'
import { type CallResult, namesOtherAmount } from './call-result.ts'
import { reportChange } from './decide-refund.ts'
import { addEffect, type Payment } from './payment.ts'
import { findRefund, type Refund, refundedAmount, requireRefund, withRefund } from './refund.ts'
import {
  captureRefundEffect,
  pollRefundEffect,
  releaseRefundEffect,
  repeatRefundEffect,
  withoutProviderEffects,
} from './refund-effects.ts'
import { transition } from './transition.ts'

/** What a provider call or a callback reported about a refund, and when. */
export interface RefundUpdate {
  readonly refund_id: string
  readonly result: CallResult
  readonly at: Date
  /** When to poll the provider for the first time if it has not decided. */
  readonly poll_at: Date
}

/**
 * Applies what a provider reported about a refund, by the rules of a withdrawal (P4, P7). The response to the create, a
 * callback and a poll all use this function, in any order and any number of times. Pure. Returns the same payment when
 * nothing changes.
 */
export function applyRefundUpdate(payment: Payment, update: RefundUpdate): Payment {
  const { result, at } = update
  const refund = findRefund(payment, update.refund_id)
  if (!refund) return payment
  if (refund.state !== 'approved') {
    const anomaly = contradiction(payment, refund, result)
    return anomaly ? withAnomaly(payment, anomaly, update) : payment
  }
  if (namesOtherAmount(result, requestedAmount(payment, refund)))
    return pollLater(withAnomaly(payment, 'amount_differs', update), update)
  switch (result.kind) {
    case 'success':
      return completeRefund(payment, { ...refund, provider_id: result.provider_id }, at)
    case 'not_sent':
      // Once a poll waits, an earlier request may have arrived.
      if (isPolled(payment, refund)) return payment
      return failRefund(payment, refund, 7002, at)
    case 'declined':
    case 'canceled':
      return failRefund(payment, refund, result.code, at)
    case 'pending':
    case 'unknown':
      return pollLater(payment, update)
  }
}

/**
 * The refund is paid: the payment changes its status, the hold is captured, then the change is announced (P9). Pure.
 */
export function completeRefund(payment: Payment, refund: Refund, at: Date): Payment {
  const { refund_id, amount } = refund
  const transition_number = payment.transition_number + 1
  const completed: Refund = { ...refund, state: 'completed', ended_at: at, transition_number }
  const ended = withoutProviderEffects(withRefund(payment, completed), completed)
  const is_whole = ended.amount === refundedAmount(ended)
  const status = is_whole ? 'refunded' : 'partially_refunded'
  const entry = captureRefundEffect.newEffect(ended, { refund_id }, { at })
  return reportChange(transition(ended, status, { at, amount, entry }), completed, { at, after: entry.id })
}

/** The refund failed: the payment and the merchant get its amount back. Pure. */
export function failRefund(payment: Payment, refund: Refund, error_code: ErrorCode, at: Date): Payment {
  const failed: Refund = { ...refund, state: 'failed', ended_at: at, error_code }
  const ended = withoutProviderEffects(withRefund(payment, failed), failed)
  const entry = releaseRefundEffect.newEffect(ended, { refund_id: refund.refund_id }, { at })
  return reportChange(addEffect(ended, entry), failed, { at, after: entry.id })
}

/** What a lookup that did not find a refund allows, and when it ended. */
export interface RefundNotFoundUpdate {
  readonly refund_id: string
  /** Whether the create of the refund may be sent again under its key. */
  readonly may_repeat: boolean
  readonly at: Date
}

/**
 * Applies a lookup that did not find a refund (P4): adds the effect that sends the refund again or, where that is not
 * safe, after five minutes an anomaly for the operator. Pure. Returns the same payment when nothing changes.
 */
export function applyRefundNotFoundUpdate(
  payment: Payment,
  { refund_id, may_repeat, at }: RefundNotFoundUpdate,
): Payment {
  const refund = findRefund(payment, refund_id)
  if (refund?.state !== 'approved') return payment
  if (may_repeat) return addEffect(payment, repeatRefundEffect.newEffect(payment, { refund_id }, { at }))
  const { undecided_since, approved_at, created_at } = refund
  if (at.getTime() - (undecided_since ?? approved_at ?? created_at).getTime() < NOT_FOUND_GRACE_MS)
    return payment
  const reported = 'does not know the refund'
  return addAnomaly(payment, newRefundAnomaly(payment, 'not_found_at_provider', { refund_id, reported, at }))
}

/** Why a result cannot be true together with the final status of the refund (P7). */
function contradiction(payment: Payment, refund: Refund, result: CallResult): AnomalyKind | undefined {
  const is_failure = result.kind === 'declined' || result.kind === 'canceled'
  const contradicts_status = refund.state === 'completed' ? is_failure : result.kind === 'success'
  if (contradicts_status) return 'contradicts_final_status'
  return namesOtherAmount(result, requestedAmount(payment, refund)) ? 'amount_differs' : undefined
}

function withAnomaly(payment: Payment, kind: AnomalyKind, { refund_id, result, at }: RefundUpdate): Payment {
  const anomaly = anomalyOfResult(payment, result, (reported) =>
    newRefundAnomaly(payment, kind, { refund_id, reported: `${reported} of the refund`, at }),
  )
  return addAnomaly(payment, anomaly)
}

function requestedAmount({ currency }: Payment, { amount: minor }: Refund): Money {
  return { minor, currency }
}

function isPolled({ effects }: Payment, { refund_id }: Pick<Refund, 'refund_id'>): boolean {
  return effects.some((effect) => pollRefundEffect.matches(effect) && effect.data['refund_id'] === refund_id)
}

function pollLater(payment: Payment, { refund_id, at, poll_at }: RefundUpdate): Payment {
  if (isPolled(payment, { refund_id })) return payment
  const undecided = withRefund(payment, { undecided_since: at, ...requireRefund(payment, refund_id) })
  return addEffect(undecided, pollRefundEffect.newEffect(payment, { refund_id }, { at, due_at: poll_at }))
}
