import { randomFraction } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import type { BoundEffect, DocumentChange } from '#lib/patterns/effects/define-effect.ts'
import { pollIntervalMs } from '../connectors/connector.ts'
import { isSendKept } from '../domain/account-identity.ts'
import type { CallResult } from '../domain/call-result.ts'
import { findOperation, isCurrent, OPERATION_RULES, type Operation, refOf } from '../domain/operation.ts'
import { addEffect, type Payment, type StoredPayment } from '../domain/payment.ts'
import { createAtProviderEffect, repeatCreateEffect } from '../domain/payment-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import {
  applyCreateResponse,
  applyResult,
  CALL_TRIES_MAX,
  LEASE_SLACK_MS,
  mayRepeat,
  operationBudgets,
  type ProviderCallDeps,
  sendCreate,
} from './provider-call.ts'

/**
 * Creates in progress per account: as many as one merchant can have at a gateway (E10), for deposits and withdrawals
 * together. Further ones wait for room (P5). Refunds are few, and no merchant waits for them.
 */
const CREATES_PER_ACCOUNT_MAX = 2_500
const REFUNDS_PER_ACCOUNT_MAX = 128
/** Repeated creates in progress per account: a provider that hangs delays its own payments only. */
const REPEATS_PER_ACCOUNT_MAX = 128
/** The part of `create_timeout_ms` that a try needs. With less left, the next account is tried after the merchant's response. */
const ATTEMPT_MIN_PART = 0.1
/** The pause of a create whose account's state cannot be read, or whose process may not act now. */
const UNKNOWN_STATE_MS = 1_000
/** How much later that try is due. Not at once, because the merchant's request waits for all effects that are due. */
const AFTER_RESPONSE_MS = 5_000

/** An earlier process may have sent it to what the account was then. */
const ACCOUNT_MOVED: CallResult = { kind: 'unknown', reason: 'the provider account is another one now' }

/** The operator has switched it off before anything left. */
const ACCOUNT_DISABLED: CallResult = { kind: 'not_sent', reason: 'the provider account is disabled' }

/**
 * Sends the create of an operation once. After a try that did not end, the poll asks the provider (P4). Only
 * `repeatCreateEffect` may send it again, within the connector's `idempotency_window_ms`.
 */
export function bindCreateAtProvider(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(createAtProviderEffect, {
    lease_ms: deps.create_timeout_ms + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    budget: operationBudgets(CREATES_PER_ACCOUNT_MAX, REFUNDS_PER_ACCOUNT_MAX),
    async run({ tries, lease, data: { refund_id } }, payment) {
      const operation = findOperation(payment, refund_id)
      if (!operation?.is_open) return (current) => current
      const ref = refOf(operation)
      // On a second try it is unknown whether the first one sent the request. This effect does not send it again; the
      // poll asks the provider, and may send it again within the idempotency window (P4).
      // An operation that was restored is not sent here either: its request may have left after the backup (P19).
      const { restored, record } = operation
      if (tries > 1 || restored !== undefined || record.provider_id !== undefined)
        return applyResult(ref, { kind: 'unknown', reason: 'an earlier try may have sent the request' }, 0)
      const { schedule, fingerprint } = deps.accountOf(operation.payment)
      if (!isSendKept(record.account, fingerprint) || (await deps.isMoved(operation)))
        return applyResult(ref, ACCOUNT_MOVED, 0)
      // The last question before the send: after it, only a connection to the provider is waited for.
      const state = await deps.account_states.recentStateOf(operation.payment.attempt.account_id)
      // The process may have been paused since the effect began, and another one have its lease now.
      if (state === 'unknown' || !deps.mayAct(lease)) return sendLater(operation, UNKNOWN_STATE_MS)
      if (state === 'disabled') return withoutSending(deps, operation)
      const { is_awaited } = OPERATION_RULES[operation.kind]
      const timeLeft = (): number | undefined =>
        is_awaited ? timeLeftOf(deps, payment) : deps.create_timeout_ms
      const timeout_ms = timeLeft() ?? deps.create_timeout_ms
      const sent = await sendCreate(deps, operation, { is_repeated: false, timeout_ms })
      // A request that this process did not send because it stops says nothing about the account. As `not_sent` it would go
      // to the next account or fail; as `unknown` it stays at this account, and a poll of another process goes on.
      const result: CallResult =
        sent.result.kind === 'not_sent' && deps.stopping.aborted
          ? { ...sent.result, kind: 'unknown' }
          : sent.result
      const next_attempt_ms = timeLeft() === undefined ? AFTER_RESPONSE_MS : 0
      const response = { ...sent, result }
      return applyCreateResponse(deps, operation, response, { poll_ms: schedule.first_ms, next_attempt_ms })
    },
  })
}

/**
 * What follows when the account of an unsent create is disabled (P20). It goes to the next account. Without one a deposit fails, as
 * its customer waits; a withdrawal and a refund were accepted, so they wait until the account is enabled.
 */
function withoutSending(deps: ProviderCallDeps, operation: Operation): DocumentChange<Payment> {
  const { kind, payment, began_at } = operation
  const { provider_accounts, attempt } = payment
  const has_next = provider_accounts.slice(attempt.number).some(deps.account_states.takesPayments)
  const schedule = deps.scheduleOf(payment)
  if (kind === 'deposit' || (OPERATION_RULES[kind].fails_over && has_next)) {
    const call = { began_at: now(), duration_ms: 0, http_status: undefined }
    return applyCreateResponse(
      deps,
      operation,
      { result: ACCOUNT_DISABLED, call },
      { poll_ms: schedule.first_ms },
    )
  }
  return sendLater(
    operation,
    pollIntervalMs(schedule, now().getTime() - began_at.getTime(), randomFraction()),
  )
}

/** Sends the create, of which nothing has left, after a pause with all its tries. */
function sendLater(operation: Operation, pause_ms: number): DocumentChange<Payment> {
  const at = now()
  const due_at = new Date(at.getTime() + pause_ms)
  const { refund_id } = operation
  return (current) =>
    findOperation(current, refund_id)?.is_open && isCurrent(current, refOf(operation))
      ? addEffect(current, createAtProviderEffect.newEffect(current, { refund_id }, { at, due_at }))
      : current
}

/**
 * What is left of the time of the create, which all accounts share, because the merchant waits for the last of them (P5).
 * `undefined` when an account needs more: then the merchant does not wait for it.
 */
function timeLeftOf({ create_timeout_ms }: ProviderCallDeps, { created_at }: Payment): number | undefined {
  const left_ms = create_timeout_ms - Math.max(0, now().getTime() - created_at.getTime())
  return left_ms < create_timeout_ms * ATTEMPT_MIN_PART ? undefined : left_ms
}

/** Sends a create that the provider does not know again, under the same key to the same account, while that is safe (P4). */
export function bindRepeatCreate(deps: ProviderCallDeps): BoundEffect<StoredPayment> {
  return bindPaymentEffect(repeatCreateEffect, {
    lease_ms: deps.create_timeout_ms + LEASE_SLACK_MS,
    tries_max: CALL_TRIES_MAX,
    budget: operationBudgets(REPEATS_PER_ACCOUNT_MAX),
    async run({ id, lease, data }, payment) {
      const operation = findOperation(payment, data.refund_id)
      // One that a crash left behind may be of an operation that has ended, or of an attempt that the payment has left, since.
      const { id: current_id } = repeatCreateEffect.newEffect(payment, data, { at: now() })
      if (!operation?.is_open || id !== current_id) return (current) => current
      const { connector, schedule, fingerprint } = deps.accountOf(operation.payment)
      const { create_timeout_ms: timeout_ms } = deps
      // The effect may have waited since the poll, for room or for a process.
      const may_send =
        isSendKept(operation.record.account, fingerprint) && mayRepeat(operation, connector, timeout_ms)
      if (!may_send || (await deps.isMoved(operation))) return (current) => current
      // The poll adds it again, so it is sent when the operator has enabled the account.
      const state = await deps.account_states.recentStateOf(operation.payment.attempt.account_id)
      if (state === 'unknown' || state === 'disabled' || !deps.mayAct(lease)) return (current) => current
      const response = await sendCreate(deps, operation, { is_repeated: true, timeout_ms })
      return applyCreateResponse(deps, operation, response, { poll_ms: schedule.first_ms })
    },
  })
}
