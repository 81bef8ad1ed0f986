import type { Client } from '@connectrpc/connect'
import type { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { mayHaveEnded } from '#lib/patterns/test-retention.ts'
import { type Chargeback, returnAmountEffect } from '../domain/chargeback.ts'

const CALL = { timeoutMs: 5_000 }
/** With pauses of 15 s on average, payments may be unavailable for half a day before the effect is stuck. */
const LIMITS = { lease_ms: 8_000, tries_max: 3_000, backoff: { first_ms: 200, max_ms: 30_000 } }

/**
 * Asks payments to credit the amount of a won chargeback to the merchant again, once per chargeback. In the test environment the payment
 * can have been deleted meanwhile (O25): then nothing is credited.
 */
export function bindReturnAmount(
  payments: Pick<Client<typeof PaymentRefundService>, 'returnChargeback'>,
): BoundEffect<Chargeback> {
  return returnAmountEffect.bind<Chargeback>({
    ...LIMITS,
    async run(_effect, chargeback) {
      const { payment, chargeback_id: chargebackId } = chargeback
      const request = { ...scopeToProto(chargeback), paymentCId: payment.c_id, chargebackId }
      await payments.returnChargeback(request, CALL).catch((error: unknown) => {
        const is_unknown = error instanceof PublicError && error.code === 12001
        const { environment, created_at: at } = chargeback
        if (!is_unknown || !mayHaveEnded({ environment, at })) throw error
      })
      return (current) => current
    },
  })
}
