import { LedgerAccount } from '#gen/multihub/balances/v1/balance_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { creditLedgerEffect } from '../domain/payment-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import { LEDGER_CALL, LEDGER_EFFECT_LIMITS, type LedgerClient } from './ledger-call.ts'

/** Posts the credit of a successful deposit. */
export function bindCreditLedger(ledger: LedgerClient): BoundEffect<StoredPayment> {
  return bindPaymentEffect(creditLedgerEffect, {
    ...LEDGER_EFFECT_LIMITS,
    async run({ id }, payment) {
      await ledger.postTransfer(
        {
          merchantId: payment.merchant_id,
          environment: environmentToProto(payment.environment),
          transferId: id,
          debit: LedgerAccount.CLEARING,
          credit: LedgerAccount.AVAILABLE,
          amount: { minor: payment.amount, currency: payment.currency },
          paymentId: payment.payment_id,
          reason: 'deposit',
        },
        LEDGER_CALL,
      )
      return (current) => current
    },
  })
}
