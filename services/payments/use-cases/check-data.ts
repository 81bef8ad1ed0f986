import type { DataCheck, ReadDocuments, Requirement } from '#lib/role/operations.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { requirementsOfPayment } from '../domain/requirements.ts'
import { findByAnyId, PAYMENTS } from '../store/payments.ts'
import type { PaymentsStore } from '../store/payments-store.ts'

/** Checks that the ledger and the notifier have what follows from the payments. */
export function createDataCheck(
  { payments }: Pick<PaymentsStore, 'payments'>,
  readDocuments: ReadDocuments,
): DataCheck {
  return {
    async *listRequirements() {
      for await (const payment of readDocuments<StoredPayment>(PAYMENTS)) yield* requirementsOf(payment)
    },
    holds: async ({ id }) => (await findByAnyId(payments, id)) !== undefined,
  }
}

function requirementsOf(payment: StoredPayment): Requirement[] {
  const { merchant_id, environment, payment_id } = payment
  return requirementsOfPayment(payment).map(({ role, id, at, event }) => {
    const kind = role === 'balances' ? 'ledger entry' : 'event'
    return {
      role,
      merchant_id,
      environment,
      id,
      at,
      ...(event && { event }),
      subject: `the ${kind} ${id} of the payment ${payment_id}`,
    }
  })
}
