import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { permitsRoute } from '#lib/contract/policy.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Stored } from '#lib/store/store.ts'
import type { FindAccount } from '../connectors/find-account.ts'
import { type Operation, operationOf } from '../domain/operation.ts'
import { asPaid, isAdmitted, type Payment, requireAdmitted, type StoredPayment } from '../domain/payment.ts'
import type { ReportedChange } from '../domain/payment-to-proto.ts'
import { findRefund, type RefundDecision, requireRefund } from '../domain/refund.ts'
import {
  beginApproval,
  decideClosing,
  decideReservation,
  type RefundClosing,
  type RefundRequest,
} from '../domain/refund-transitions.ts'
import { keyOfPayment, type PaymentKey } from '../store/payments.ts'
import { type AdmissionDeps, awaitChange } from './await-change.ts'
import { findByPublicId, type PaymentQuery } from './find-payment.ts'

/**
 * Applies a decision about a refund or a chargeback to its payment in one guarded write. Throws its refusal, after the
 * refusal is stored.
 */
export async function applyDecision(
  runner: Pick<EffectRunner<StoredPayment>, 'update'>,
  found: Stored<Payment>,
  decide: (current: Payment) => RefundDecision,
): Promise<Stored<Payment>> {
  let refusal: Pick<RefundDecision, 'refused_code' | 'refused_details'> = {}
  const stored = await runner.update(
    keyOfPayment(found),
    (current) => {
      const payment = requireAdmitted(current)
      const decided = decide(payment)
      refusal = decided
      return decided.payment === payment ? undefined : decided.payment
    },
    found,
  )
  if (!stored) throw new Error(`the payment ${found.payment_id} is gone`)
  const { refused_code, refused_details: details } = refusal
  if (refused_code !== undefined) throw new PublicError(refused_code, { details })
  return requireAdmitted(stored)
}

/** A payment after a decision about one of its refunds, and the change that it led to. */
export interface DecidedRefund {
  readonly payment: Stored<Payment>
  readonly change: ReportedChange
}

/**
 * Reserves the amount of a refund, once per `refund_id`. Throws 10001 without such a payment, 3008 when the policy forbids
 * its route or currency, then 11002, 11005 or 11004 (S8). A repetition gets the same decision, also when that was a refusal.
 * The policy is not applied again to a refund that was accepted.
 */
export async function reserveRefund(
  deps: AdmissionDeps,
  query: PaymentQuery,
  request: RefundRequest,
): Promise<DecidedRefund> {
  const found = await findByPublicId(deps, query)
  if (!found) throw new PublicError(10001)
  const is_permitted = permitsRoute(query.policy, found.service_id, found.currency)
  if (!is_permitted && !findRefund(found, request.refund_id)) throw new PublicError(3008)
  const payment = await applyDecision(deps.runner, found, (current) =>
    decideReservation(current, request, now()),
  )
  deps.runner.runEffectsInBackground(payment)
  const { refund_id, c_id, reason } = request
  const { created_at: changed_at } = requireRefund(payment, refund_id)
  return { payment, change: { refund_id, number: 1, status: 'pending', changed_at, c_id, reason } }
}

/** What the operator's decisions about refunds need. */
export interface RefundDecisionDeps extends AdmissionDeps {
  readonly findAccount: FindAccount
  /** Whether what the operation needs is at something else than its account is now (P4). */
  isMoved(operation: Operation): Promise<boolean>
}

/** A refund, by the key of its payment. */
export type RefundQuery = PaymentKey & { readonly refund_id: string }

/** The ledger decides within milliseconds. The wait exceeds the lease of the hold, so that a crash is bridged. */
const WAIT_MS = 10_000

/**
 * Approves a refund: checks the cap again, then holds the funds (S9). The provider is called after that, without the caller.
 * Throws 11004 when a chargeback has taken the amount, 6004 without the funds (the refund stays pending), 1009 when the
 * provider account of the deposit cannot refund, 8801 for a refund that was rejected or canceled, 8801 also while that account
 * has moved (P4) or is not known since a restore (P19), and `Unavailable` when the ledger does not decide in time. A repetition
 * gets the same approval.
 */
export async function approveRefund(deps: RefundDecisionDeps, query: RefundQuery): Promise<DecidedRefund> {
  const { refund_id } = query
  const found = await findPaymentOfRefund(deps, query)
  const before = requireRefund(found, refund_id)
  const { attempt, environment } = asPaid(found)
  const connected = deps.findAccount(attempt.account_id, environment)
  // Restored, and paid at an account that is not known yet (P19).
  if (before.state === 'pending' && found.restored === 'booked')
    throw new PublicError(8801, {
      details: {
        description: 'since a restore it is not known which provider account was paid',
        reason:
          'wait until the accounts have answered, or resolve the anomaly of the account that was paid as paid',
      },
    })
  // A refund goes to the account of its deposit, and to no other.
  if (before.state === 'pending' && !connected?.connector.operations.includes('refund'))
    throw new PublicError(1009)
  // It would hold funds and never be sent, until the operator has confirmed the account.
  if (before.state === 'pending' && (await deps.isMoved(operationOf(found, refund_id))))
    throw new PublicError(8801, {
      details: {
        description: `the provider account ${attempt.account_id} has moved`,
        reason: 'confirm it with ConfirmAccountMoved, or put the old account back into the accounts file',
      },
    })
  const fingerprint = connected?.fingerprint ?? ''
  const begun = await applyDecision(deps.runner, found, (current) =>
    beginApproval(current, refund_id, now(), fingerprint),
  )
  const payment = await awaitHold(deps, query, begun)
  const { approved_at, hold_refusal } = requireRefund(payment, refund_id)
  if (approved_at === undefined) throw new PublicError(hold_refusal ?? 8801)
  return {
    payment,
    change: { refund_id, number: 2, status: 'approved', changed_at: approved_at, c_id: '', reason: '' },
  }
}

/**
 * Rejects or cancels a pending refund. Throws 8801 for any other. Waits for the ledger while the refund is being approved. A
 * repetition gets the same result.
 */
export async function closeRefund(
  deps: AdmissionDeps,
  query: RefundQuery,
  closing: RefundClosing,
): Promise<DecidedRefund> {
  const { refund_id, status, reason } = closing
  const found = await awaitHold(deps, query, await findPaymentOfRefund(deps, query))
  const payment = await applyDecision(deps.runner, found, (current) => decideClosing(current, closing, now()))
  deps.runner.runEffectsInBackground(payment)
  const { ended_at = payment.updated_at } = requireRefund(payment, refund_id)
  return { payment, change: { refund_id, number: 2, status, changed_at: ended_at, c_id: '', reason } }
}

/** The payment that has the refund. Throws 11001 when there is none. */
async function findPaymentOfRefund(
  { payments }: AdmissionDeps,
  { refund_id, ...key }: RefundQuery,
): Promise<Stored<Payment>> {
  const found = await payments.get(keyOfPayment(key), { linearizable: true })
  if (!found || !isAdmitted(found) || !findRefund(found, refund_id)) throw new PublicError(11001)
  return found
}

/** Waits until the ledger has decided about the hold of a refund that is being approved, in this process or in another one. */
async function awaitHold(
  deps: AdmissionDeps,
  query: RefundQuery,
  begun: Stored<Payment>,
): Promise<Stored<Payment>> {
  deps.runner.runEffectsInBackground(begun)
  return await awaitChange(begun, {
    hasHappened: (current) => requireRefund(current, query.refund_id).state !== 'approving',
    read: () => findPaymentOfRefund(deps, query),
    wait_ms: WAIT_MS,
    late: 'the ledger has not decided about the hold of the refund yet',
  })
}
