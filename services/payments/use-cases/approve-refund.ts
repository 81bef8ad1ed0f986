import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Stored } from '#lib/store/store.ts'
import type { FindAccount } from '../connectors/connect-account.ts'
import { beginApproval, decideClosing, type RefundClosing } from '../domain/decide-refund.ts'
import { asPaid, isAdmitted, type Payment } from '../domain/payment.ts'
import { findRefund, requireRefund } from '../domain/refund.ts'
import { keyOfPayment } from '../store/payments.ts'
import { applyDecision } from './apply-decision.ts'
import type { AdmissionDeps } from './await-admission.ts'
import { awaitChange } from './await-change.ts'
import type { DecidedRefund } from './reserve-refund.ts'

/** What the operator's decisions about refunds need. */
export interface RefundDecisionDeps extends AdmissionDeps {
  readonly findAccount: FindAccount
}

/** A refund, by the key of its payment. */
export interface RefundQuery {
  readonly merchant_id: string
  readonly environment: Environment
  readonly c_id: string
  readonly refund_id: string
}

/** The ledger decides within milliseconds. The wait exceeds the lease of the hold, so that a crash is bridged. */
const WAIT_MS = 10_000

/**
 * Approves a refund: checks the cap again, then holds the funds (S9). The provider is called after that, without the caller.
 * Throws 11004 when a chargeback has taken the amount, 6004 without the funds (the refund stays pending), 1009 when the
 * provider account of the deposit cannot refund, 8801 for a refund that was rejected or canceled, and `Unavailable` when the
 * ledger does not decide in time. A repetition gets the same approval.
 */
export async function approveRefund(deps: RefundDecisionDeps, query: RefundQuery): Promise<DecidedRefund> {
  const { refund_id } = query
  const found = await findPaymentOfRefund(deps, query)
  const before = requireRefund(found, refund_id)
  if (before.state === 'pending') checkAccount(deps, asPaid(found))
  const begun = await applyDecision(deps.runner, found, (current) => beginApproval(current, refund_id, now()))
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

/** A refund goes to the account of its deposit, and to no other. */
function checkAccount({ findAccount }: RefundDecisionDeps, { attempt, environment }: Payment): void {
  const connected = findAccount(attempt.account_id, environment)
  if (!connected?.connector.operations.includes('refund')) throw new PublicError(1009)
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
