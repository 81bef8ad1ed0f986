import { now } from '#lib/base/time.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { admitWithdrawal, refuseWithdrawal } from '../domain/new-payment.ts'
import { holdIdOf, type StoredPayment } from '../domain/payment.ts'
import { holdFundsEffect } from '../domain/payment-effects.ts'
import type { PaymentRoute } from '../domain/payment-route.ts'
import {
  HOLD_EFFECT_LIMITS,
  holdLimitsToProto,
  LEDGER_CALL,
  type LedgerClient,
  refusalOfEntry,
} from './ledger-call.ts'

/** What placing a hold needs. */
export interface HoldFundsDeps {
  readonly ledger: LedgerClient
  findRoute(service_id: string): Promise<PaymentRoute | undefined>
}

/**
 * Places the hold of a withdrawal. The ledger decides about funds and limits in one step and permanently (P14), so a try
 * that follows one with an unknown result gets the decision of that one, also when the operator has changed a limit.
 */
export function bindHoldFunds({ ledger, findRoute }: HoldFundsDeps): BoundEffect<StoredPayment> {
  return holdFundsEffect.bind<StoredPayment>({
    ...HOLD_EFFECT_LIMITS,
    async run(_effect, withdrawal) {
      const route = await findRoute(withdrawal.service_id)
      if (!route) throw new Error(`the route ${withdrawal.service_id} is unknown`)
      const { entry } = await ledger.placeHold(
        {
          merchantId: withdrawal.merchant_id,
          environment: environmentToProto(withdrawal.environment),
          holdId: holdIdOf(withdrawal),
          amount: { minor: withdrawal.amount, currency: withdrawal.currency },
          paymentId: withdrawal.payment_id,
          reason: 'withdrawal',
          limits: holdLimitsToProto(route),
        },
        LEDGER_CALL,
      )
      const refused_code = refusalOfEntry(entry)
      const at = now()
      return (current) => {
        // Only this effect ends the status, so this is for the type.
        if (current.status !== 'reserving') return current
        return refused_code === undefined
          ? admitWithdrawal(current, at)
          : refuseWithdrawal(current, refused_code, at)
      }
    },
  })
}
