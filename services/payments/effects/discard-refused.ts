import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { insertOrGet } from '#lib/patterns/update.ts'
import { refusalOf } from '../domain/hold-decision.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { discardRefusedEffect } from '../domain/payment-effects.ts'
import { keyOfPayment } from '../store/payments.ts'
import type { PaymentsStore } from '../store/payments-store.ts'

const LEASE_MS = 5_000
const TRIES_MAX = 300

/**
 * Stores the record of a refused withdrawal, once, then deletes the withdrawal under its version: the `c_id` is free, and
 * a late write can never hit the next payment under it (P3).
 */
export function bindDiscardRefused({
  payments,
  withdrawal_refusals,
}: Pick<PaymentsStore, 'payments' | 'withdrawal_refusals'>): BoundEffect<StoredPayment> {
  return discardRefusedEffect.bind<StoredPayment>({
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    async run(_effect, document) {
      if (document.status !== 'refused') throw new Error('only a refused withdrawal is discarded')
      const { merchant_id, payment_id } = document
      await insertOrGet(withdrawal_refusals, { merchant_id, payment_id }, refusalOf(document))
      await payments.delete(keyOfPayment(document), document.version)
      return (current) => current
    },
  })
}
