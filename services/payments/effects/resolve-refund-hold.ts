import { HoldResolution } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { holdIdOfRefund, requireRefund } from '../domain/refund.ts'
import { captureRefundEffect, releaseRefundEffect } from '../domain/refund-effects.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'
import { LEDGER_CALL, LEDGER_EFFECT_LIMITS, type LedgerClient } from './ledger-call.ts'

/** Takes the held funds of a completed refund for good. */
export function bindCaptureRefund(ledger: LedgerClient): BoundEffect<StoredPayment> {
  return bindPaymentEffect(captureRefundEffect, {
    ...LEDGER_EFFECT_LIMITS,
    run: async ({ data }, payment) => {
      await resolveHold(ledger, payment, data.refund_id, HoldResolution.CAPTURE, 'refund')
      return (current) => current
    },
  })
}

/** Gives the held funds of a failed refund back to the available balance. */
export function bindReleaseRefund(ledger: LedgerClient): BoundEffect<StoredPayment> {
  return bindPaymentEffect(releaseRefundEffect, {
    ...LEDGER_EFFECT_LIMITS,
    run: async ({ data }, payment) => {
      await resolveHold(ledger, payment, data.refund_id, HoldResolution.RELEASE, 'refund failed')
      return (current) => current
    },
  })
}

async function resolveHold(
  ledger: LedgerClient,
  payment: Payment,
  refund_id: string,
  resolution: HoldResolution,
  reason: string,
): Promise<void> {
  await ledger.resolveHold(
    {
      merchantId: payment.merchant_id,
      environment: environmentToProto(payment.environment),
      holdId: holdIdOfRefund(requireRefund(payment, refund_id)),
      resolution,
      reason,
    },
    LEDGER_CALL,
  )
}
