import { now } from '#lib/base/time.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { applyHoldDecision } from '../domain/decide-refund.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { requireRefund } from '../domain/refund.ts'
import { holdRefundEffect } from '../domain/refund-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import { HOLD_EFFECT_LIMITS, LEDGER_CALL, type LedgerClient, refusalOfEntry } from './ledger-call.ts'

/** Places the hold of a refund: the ledger decides about the funds permanently (S9). No limit of a route counts it. */
export function bindHoldRefund(ledger: LedgerClient): BoundEffect<StoredPayment> {
  return bindPaymentEffect(holdRefundEffect, {
    ...HOLD_EFFECT_LIMITS,
    async run({ data: { refund_id, hold_id } }, payment) {
      const { amount } = requireRefund(payment, refund_id)
      const { entry } = await ledger.placeHold(
        {
          merchantId: payment.merchant_id,
          environment: environmentToProto(payment.environment),
          holdId: hold_id,
          amount: { minor: amount, currency: payment.currency },
          paymentId: payment.payment_id,
          reason: 'refund',
        },
        LEDGER_CALL,
      )
      const decision = { refund_id, hold_id, refused_code: refusalOfEntry(entry) }
      const at = now()
      return (current) => applyHoldDecision(current, decision, at)
    },
  })
}
