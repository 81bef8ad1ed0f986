import { environmentToProto } from '#lib/contract/environment.ts'
import { isErrorCode } from '#lib/contract/errors/error-table.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { now } from '#lib/platform/time.ts'
import { admitWithdrawal, refuseWithdrawal } from '../domain/new-payment.ts'
import { holdIdOf, type StoredPayment } from '../domain/payment.ts'
import { holdFundsEffect } from '../domain/payment-effects.ts'
import type { PaymentRoute } from '../domain/payment-route.ts'
import { holdLimitsToProto, LEDGER_CALL, LEDGER_EFFECT_LIMITS, type LedgerClient } from './ledger-call.ts'

/** Short pauses, because the merchant gets 2002 until the ledger has decided. */
const BACKOFF = { first_ms: 200, max_ms: 10_000 }
/** With pauses of 5 s on average, the ledger may be unavailable for half a day before the effect is stuck. */
const TRIES_MAX = 10_000

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
    ...LEDGER_EFFECT_LIMITS,
    tries_max: TRIES_MAX,
    backoff: BACKOFF,
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
