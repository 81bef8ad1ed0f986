import { HoldResolution } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { holdIdOf, type StoredPayment } from '../domain/payment.ts'
import { releaseHoldEffect } from '../domain/payment-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import { LEDGER_CALL, LEDGER_EFFECT_LIMITS, type LedgerClient } from './ledger-call.ts'

/**
 * Gives the held funds of a failed withdrawal back to the available balance. The ledger also takes its amount off the
 * totals of the payout limits (P14).
 */
export function bindReleaseHold(ledger: LedgerClient): BoundEffect<StoredPayment> {
  return bindPaymentEffect(releaseHoldEffect, {
    ...LEDGER_EFFECT_LIMITS,
    async run(_effect, withdrawal) {
      await ledger.resolveHold(
        {
          merchantId: withdrawal.merchant_id,
          environment: environmentToProto(withdrawal.environment),
          holdId: holdIdOf(withdrawal),
          resolution: HoldResolution.RELEASE,
          reason: 'withdrawal failed',
        },
        LEDGER_CALL,
      )
      return (current) => current
    },
  })
}
