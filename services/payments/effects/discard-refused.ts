import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { RefusedWithdrawal, StoredPayment } from '../domain/payment.ts'
import { discardRefusedEffect, recordRefusalEffect } from '../domain/payment-effects.ts'
import { keyOfPayment } from '../store/payments.ts'
import { type PaymentsStore, recordRefusal } from '../store/payments-store.ts'

const LIMITS = { lease_ms: 5_000, tries_max: 300 }

/**
 * What follows a refusal of the ledger: its record, once; and after its time the withdrawal is deleted under its version, so
 * that a late write can never hit the next payment under its `c_id` (P3).
 */
export function bindRefusal({
  payments,
  withdrawal_refusals,
}: Pick<PaymentsStore, 'payments' | 'withdrawal_refusals'>): readonly BoundEffect<StoredPayment>[] {
  return [
    recordRefusalEffect.bind<StoredPayment>({
      ...LIMITS,
      async run(_effect, document) {
        await recordRefusal(withdrawal_refusals, requireRefused(document))
        return (current) => current
      },
    }),
    discardRefusedEffect.bind<StoredPayment>({
      ...LIMITS,
      async run(_effect, document) {
        await payments.delete(keyOfPayment(requireRefused(document)), document.version)
        return (current) => current
      },
    }),
  ]
}

function requireRefused(document: StoredPayment): RefusedWithdrawal {
  if (document.status !== 'refused') throw new Error('only a refused withdrawal is discarded')
  return document
}
