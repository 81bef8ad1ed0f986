import type { Client } from '@connectrpc/connect'
import type { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import type { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { reportChargebackEffect, reportRefundEffect } from '../domain/payment-effects.ts'
import { chargebackToProto, refundChangeToProto } from '../domain/payment-to-proto.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

/** What payments calls of the support service. */
export interface SupportClients {
  readonly refunds: Pick<Client<typeof RefundService>, 'recordRefundChange'>
  readonly chargebacks: Pick<Client<typeof ChargebackService>, 'recordChargeback'>
}

const CALL = { timeoutMs: 3_000 }
/** With pauses of 15 s on average, the support service may be unavailable for half a day before the effect is stuck. */
const LIMITS = { lease_ms: 5_000, tries_max: 3_000, backoff: { first_ms: 200, max_ms: 30_000 } }

/**
 * Reports changes of refunds to the support service, which keeps what merchants see, and chargebacks, each after its debit
 * is posted.
 */
export function bindReportsToSupport({ refunds, chargebacks }: SupportClients): BoundEffect<StoredPayment>[] {
  return [
    bindPaymentEffect(reportRefundEffect, {
      ...LIMITS,
      async run({ data }, payment) {
        await refunds.recordRefundChange({ change: refundChangeToProto(payment, data) }, CALL)
        return (current) => current
      },
    }),
    bindPaymentEffect(reportChargebackEffect, {
      ...LIMITS,
      async run({ data }, payment) {
        await chargebacks.recordChargeback({ debit: chargebackToProto(payment, data) }, CALL)
        return (current) => current
      },
    }),
  ]
}
