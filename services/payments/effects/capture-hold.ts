import { HoldResolution } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { holdIdOf, type StoredPayment } from '../domain/payment.ts'
import { captureHoldEffect } from '../domain/payment-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import { LEDGER_CALL, LEDGER_EFFECT_LIMITS, type LedgerClient } from './ledger-call.ts'

/** Takes the held funds of a successful withdrawal for good. */
export function bindCaptureHold(ledger: LedgerClient): BoundEffect<StoredPayment> {
  return bindPaymentEffect(captureHoldEffect, {
    ...LEDGER_EFFECT_LIMITS,
    async run(_effect, withdrawal) {
      await ledger.resolveHold(
        {
          merchantId: withdrawal.merchant_id,
          environment: environmentToProto(withdrawal.environment),
          holdId: holdIdOf(withdrawal),
          resolution: HoldResolution.CAPTURE,
          reason: 'withdrawal',
        },
        LEDGER_CALL,
      )
      return (current) => current
    },
  })
}
