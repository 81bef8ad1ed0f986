import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Stored } from '#lib/store/store.ts'
import { type ChargebackRequest, decideChargeback, winChargeback } from '../domain/chargeback.ts'
import { isAdmitted, type Payment } from '../domain/payment.ts'
import { findChargeback } from '../domain/refund.ts'
import { keyOfPayment, type PaymentKey } from '../store/payments.ts'
import { type AdmissionDeps, awaitLedgerEntry } from './await-change.ts'
import { applyDecision } from './decide-refund.ts'
import { getPayment } from './find-payment.ts'

/**
 * Takes a chargeback from the merchant's available funds, once per `chargeback_id`, and resolves when the entry is posted
 * (S10). `payment_id` is either id of the payment. Throws 10001 without such a payment, then 11002, 6002 or 11004, and
 * `Unavailable` when the ledger does not answer in time; it is posted later then.
 */
export async function debitChargeback(
  deps: AdmissionDeps,
  payment_id: string,
  request: Omit<ChargebackRequest, 'currency'> & { readonly currency?: string | undefined },
): Promise<Payment> {
  const found = await getPayment(deps, payment_id, 10001)
  const complete = { ...request, currency: request.currency ?? found.currency }
  const payment = await applyDecision(deps.runner, found, (current) =>
    decideChargeback(current, complete, now()),
  )
  return await postEntry(deps, payment)
}

/**
 * Credits the amount of a won chargeback to the merchant again, once, and resolves when the entry is posted. Throws 12001
 * for an unknown chargeback, and `Unavailable` like `debitChargeback`.
 */
export async function returnChargeback(
  deps: AdmissionDeps,
  { chargeback_id, ...key }: PaymentKey & { readonly chargeback_id: string },
): Promise<void> {
  const found = await deps.payments.get(keyOfPayment(key), { linearizable: true })
  if (!found || !isAdmitted(found) || !findChargeback(found, chargeback_id)) throw new PublicError(12001)
  const payment = await applyDecision(deps.runner, found, (current) => ({
    payment: winChargeback(current, chargeback_id, now()),
  }))
  await postEntry(deps, payment)
}

async function postEntry(deps: AdmissionDeps, payment: Stored<Payment>): Promise<Payment> {
  const settled = await deps.runner.runEffects(payment)
  await awaitLedgerEntry(deps.payments, { ...payment, effects: settled.effects })
  return payment
}
