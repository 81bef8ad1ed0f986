import { environmentToProto } from '#lib/contract/environment.ts'
import { isErrorCode } from '#lib/contract/errors/error-table.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { now } from '#lib/platform/time.ts'
import { admitWithdrawal, refuseWithdrawal } from '../domain/new-payment.ts'
import { holdIdOf, type StoredPayment } from '../domain/payment.ts'
import { holdFundsEffect } from '../domain/payment-effects.ts'
import { LEDGER_CALL, LEDGER_EFFECT_LIMITS, type LedgerClient } from './ledger-call.ts'

/**
 * Places the hold of a withdrawal. The ledger decides about funds and limits in one step and permanently (P14), so a try
 * that follows one with an unknown result gets the decision of that one.
 */
export function bindHoldFunds(ledger: LedgerClient): BoundEffect<StoredPayment> {
  return holdFundsEffect.bind<StoredPayment>({
    ...LEDGER_EFFECT_LIMITS,
    async run(_effect, withdrawal) {
      const { entry } = await ledger.placeHold(
        {
          merchantId: withdrawal.merchant_id,
          environment: environmentToProto(withdrawal.environment),
          holdId: holdIdOf(withdrawal),
          amount: { minor: withdrawal.amount, currency: withdrawal.currency },
          paymentId: withdrawal.payment_id,
          reason: 'withdrawal',
        },
        LEDGER_CALL,
      )
      if (!entry) throw new TypeError('the ledger answered without an entry')
      const { refusedCode } = entry
      if (refusedCode !== 0 && !isErrorCode(refusedCode))
        throw new TypeError(`the ledger refused a hold with the unknown code ${refusedCode}`)
      const at = now()
      return (current) => {
        if (current.status !== 'reserving') return current
        return refusedCode === 0 ? admitWithdrawal(current, at) : refuseWithdrawal(current, refusedCode, at)
      }
    },
  })
}
