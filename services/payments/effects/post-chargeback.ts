import { LedgerAccount } from '#gen/multihub/balances/v1/balance_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { BoundEffect, EffectDefinition } from '#lib/patterns/effects/define-effect.ts'
import { requireChargeback } from '../domain/chargeback.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { debitChargebackEffect, returnChargebackEffect } from '../domain/refund-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import { LEDGER_CALL, LEDGER_EFFECT_LIMITS, type LedgerClient } from './ledger-call.ts'

interface Movement {
  readonly debit: LedgerAccount
  readonly credit: LedgerAccount
  readonly reason: string
}

/** Takes a chargeback from the available funds. The ledger never refuses it: the balance can become negative (B2). */
export function bindDebitChargeback(ledger: LedgerClient): BoundEffect<StoredPayment> {
  return bindMovement(ledger, debitChargebackEffect, {
    debit: LedgerAccount.AVAILABLE,
    credit: LedgerAccount.CHARGEBACKS,
    reason: 'chargeback',
  })
}

/** Credits a chargeback back that the merchant has won. */
export function bindReturnChargeback(ledger: LedgerClient): BoundEffect<StoredPayment> {
  return bindMovement(ledger, returnChargebackEffect, {
    debit: LedgerAccount.CHARGEBACKS,
    credit: LedgerAccount.AVAILABLE,
    reason: 'chargeback won',
  })
}

function bindMovement(
  ledger: LedgerClient,
  effect: EffectDefinition<Payment, { readonly chargeback_id: string }>,
  movement: Movement,
): BoundEffect<StoredPayment> {
  return bindPaymentEffect(effect, {
    ...LEDGER_EFFECT_LIMITS,
    async run({ id, data }, payment) {
      const { amount } = requireChargeback(payment, data.chargeback_id)
      await ledger.postTransfer(
        {
          merchantId: payment.merchant_id,
          environment: environmentToProto(payment.environment),
          transferId: id,
          amount: { minor: amount, currency: payment.currency },
          paymentId: payment.payment_id,
          ...movement,
        },
        LEDGER_CALL,
      )
      return (current) => current
    },
  })
}
