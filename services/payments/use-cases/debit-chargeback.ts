import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type ChargebackRequest, decideChargeback, winChargeback } from '../domain/chargeback.ts'
import { isAdmitted, type Payment } from '../domain/payment.ts'
import { findChargeback } from '../domain/refund.ts'
import { keyOfPayment } from '../store/payments.ts'
import { type AdmissionDeps, awaitLedgerEntry } from './await-change.ts'
import { applyDecision } from './decide-refund.ts'
import { findChargedPayment } from './find-payment.ts'

/** A chargeback, by the key of its payment. */
export interface ChargebackQuery {
  readonly merchant_id: string
  readonly environment: Environment
  readonly c_id: string
  readonly chargeback_id: string
}

/**
 * Takes a chargeback from the merchant's available funds, once per `chargeback_id`, and resolves when the entry is posted
 * (S10). `payment_id` is either id of the payment. Throws 10001 without such a payment, then 11002, 6002 or 11004, and
 * `Unavailable` when the ledger does not answer in time; it is posted later then.
 */
export async function debitChargeback(
  deps: AdmissionDeps,
  payment_id: string,
  request: Omit<ChargebackRequest, 'currency'> & { readonly currency?: string },
): Promise<Payment> {
  const found = await findChargedPayment(deps, payment_id)
  const complete = { ...request, currency: request.currency ?? found.currency }
  const payment = await applyDecision(deps.runner, found, (current) =>
    decideChargeback(current, complete, now()),
  )
  const settled = await deps.runner.runEffects(payment)
  await awaitLedgerEntry(deps.payments, { ...payment, effects: settled.effects })
  return payment
}

/**
 * Credits the amount of a won chargeback to the merchant again, once, and resolves when the entry is posted. Throws 12001
 * for an unknown chargeback, and `Unavailable` like `debitChargeback`.
 */
export async function returnChargeback(
  deps: AdmissionDeps,
  { chargeback_id, ...key }: ChargebackQuery,
): Promise<void> {
  const found = await deps.payments.get(keyOfPayment(key), { linearizable: true })
  if (!found || !isAdmitted(found) || !findChargeback(found, chargeback_id)) throw new PublicError(12001)
  const payment = await applyDecision(deps.runner, found, (current) => ({
    payment: winChargeback(current, chargeback_id, now()),
  }))
  const settled = await deps.runner.runEffects(payment)
  await awaitLedgerEntry(deps.payments, { ...payment, effects: settled.effects })
}
